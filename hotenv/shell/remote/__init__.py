"""Command sessions on another machine, over the connection of :mod:`hotenv.remote`."""
