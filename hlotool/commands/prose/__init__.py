"""The sentences around the tables of a command, a file a command; `headroom` is of several."""
