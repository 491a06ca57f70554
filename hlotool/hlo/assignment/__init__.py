"""The text of a buffer assignment: `parser` is the way in, and reads the allocations.

`sections` has what may stand behind them, in the same file or in files of their own.
"""
