"""Parts of generate.py: what to compile, how, and what XLA knows of the result."""
