"""The command line: one module for each command, with its options and what it does."""
