"""What `hlotool check` does beside judging: its answer, baselines, the history of its figures."""
