"""What a session is on disk: its marker, its socket, and the status beside it."""
