"""What comes out: the session's values are replaced by their names, wherever they come out."""
