"""Command sessions: a bash that a program drives, one command after the other.

The rules of the game. Data and control never share a stream:

- A line for the shell comes on its own standard input, with the command as one quoted word for
  ``eval``. There is no loop, variable, function or trap of ours in the shell.
- Each command has its own output: two FIFOs that are gone with it. What is written to them after
  its end is late, and never part of another command's output.
- The shell reports by redirections without a command, which no function, alias or option can take
  the place of: the name of a file that it creates is the exit status, and a FIFO that it opens is
  the end. A shell that can no longer report, ends, and the next command finds a new one.
"""
