"""What crosses the interconnect."""
