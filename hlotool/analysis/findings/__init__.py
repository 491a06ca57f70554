"""Room analysis/findings."""
