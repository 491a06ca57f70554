"""Edits of a module whose true pairing is known.

`listing` takes a parsed module apart into lines that can be edited, and prints it with names,
order and metadata kept or not. `kinds` has the edits, `layers` a model with numbered layers.
`accuracy/pairing.py` compares what `diff` finds with what was done.
"""
