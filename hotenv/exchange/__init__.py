"""What client and server say to each other, and both ways of asking: Trio and the express lane."""
