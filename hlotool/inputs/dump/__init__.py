"""From a directory to its programs: names, siblings, groups."""
