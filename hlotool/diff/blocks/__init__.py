"""What a diff lists: one file a block of its answer."""
