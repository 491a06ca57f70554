"""Read what the XLA compiler wrote down: HLO modules and buffer assignments."""

__version__ = "0.1.0"
