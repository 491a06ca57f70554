"""What runs, in which order, and where work overlaps: the answer of `hlotool outline`.

`clock` says what each scheduled instruction is and how long it takes, with what shares the memory.
`tree` makes a tree of them: loops, branches and calls hold what they run. `report` makes the tree
short, and rows of it.
"""
