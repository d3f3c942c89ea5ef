"""A log of what was handed over and run, in which a change can be seen."""
