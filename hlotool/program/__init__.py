"""One program, and everything that is worked out about it once."""
