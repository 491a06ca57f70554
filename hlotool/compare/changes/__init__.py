"""What a diff lists, one file a list or block of its answer.

`instructions` finds those that differ, `reasons` says why, and what speaks for a pair; `fusions`
folds what changed alike, and says what was split or merged. `memory` pairs the values at the two
peaks, `collectives` what crosses the interconnect. `figures` has the figures side by side, times
and the threshold. `header` tells of module headers and flags, `text` writes both programs line by
line.
"""
