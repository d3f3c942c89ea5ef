"""Commands on another machine, through the system's own ssh. That machine needs bash and coreutils.

There is one connection, with several sessions (a process of ssh here, and one there). For a single
command see ``single``; for a shell they are:

- The keeper's, of which there is one. It takes orders and a heartbeat, passes reports on, and ends
  all that belongs to the session when it hears nothing more.
- A shell's: its standard input is the lines for it.
- A pump's: its standard output and standard error are those of the commands, byte by byte. How
  much of them belongs to which command is reported through the keeper: there is no mark in data.

What is secret goes through these streams, and never becomes a word of a command or a file.
"""
