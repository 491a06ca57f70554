"""Who holds memory, how much, and when."""
