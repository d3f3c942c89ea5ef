"""Out: what environment a command gets, in which form, and how it is started."""
