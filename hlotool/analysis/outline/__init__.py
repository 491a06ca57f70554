"""What runs, in which order, and where does work overlap? The answer of `hlotool outline`.

`steps` tells what each scheduled instruction is, `tree` makes a tree of them: loops, branches and
calls hold what they run, work of one scope is one node. `repeats` finds what stands in a row
several times, `fold` makes one node of it. `listing` makes `rows` of the tree, in the words of
`wording`, and `own` says what of each is in no other; `answer` declares them. `clock` says how
long each instruction takes (a `duration`), with what shares the memory (`memory_lane`); `run_time`
is what it shows at the end.
"""
