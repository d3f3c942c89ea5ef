"""Hold: the server in its nursery, and as a process of its own with a clock, signals and a log."""
