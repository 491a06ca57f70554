"""What is worth knowing first: of one module, and of the programs of a directory.

`counts` is what is in it, facts, opcodes, element types and loops, and under what it was
compiled. `report` puts them beside how long a step takes on a chip, and what the other
analyses say, and declares the answers of `hlotool summary`.
"""
