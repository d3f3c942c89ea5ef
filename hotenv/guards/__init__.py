"""What a command may do: guards that the kernel enforces, for any program, without root.

The rules of the game. Three parts of the kernel share the work:

- A seccomp filter (``filter``) decides on what stands in registers: the number of a call, flags.
- Landlock (``landlock``) decides on paths, and keeps the command away from processes outside.
- What neither can decide is stopped and shown to the supervisor, which refuses it or makes the call
  itself on a descriptor of its own. It never lets a call go on because of what it read in the
  command's memory, unless the call is harmless whatever stands there.
"""
