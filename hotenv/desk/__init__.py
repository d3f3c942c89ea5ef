"""The desk: runs commands for an agent, which cannot get at a session's values."""
