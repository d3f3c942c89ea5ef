"""The project's file: what it says, whether it is allowed, and the session that it starts."""
