"""Looking after sessions: their status, ending them, removing what dead ones left."""
