"""Which instructions of two programs do the same work.

What one instruction is comes first: `comparable` (what counts, and in which spelling), `signature`
(all of it as a number, operands aside), `colours` (with its operands and uses, strict to loose).
Then who is whose counterpart: `structure` asks, going down from the entries by what counterparts
call, and is the answer. `layers` aligns numbered repeats; `matching` pairs two computations, stage
by stage; `moved` looks across computations, through fusions, calls and tuples.
"""
