"""What is in a module, counted."""
