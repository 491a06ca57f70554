"""What `hlotool explain` knows: `terms` of all declarations, the `legend` of tables, `formats`."""
