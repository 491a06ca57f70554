"""What is worth knowing first: of one module, and of the programs of a directory.

`counts` is what is in it, facts, opcodes, element types and loops, and under what it was
compiled. `run` is how long a run takes on a chip. `report` puts them beside what the other
analyses say, and declares the answers of `hlotool summary`.
"""
