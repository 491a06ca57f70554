"""What runs, in which order and how often: the shape of a program, before any figure of it."""
