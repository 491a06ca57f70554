"""IR to frozen records: every analysis is a pure function."""
