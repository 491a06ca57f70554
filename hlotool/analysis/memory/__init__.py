"""Who holds memory, how much, and when?

`report` is the way in: it measures a program and returns its `figures`. `belonging` checks
that a buffer assignment is the module's, `unplaced` that it has all of it; without one, the room
`estimate` makes one up.

`memory_map` knows which bytes are in use when: the `occupancy` of each allocation (by its
`joined_blocks`, with a `cover_tree` where they overlap) is a `curve`. `space_sums` and
`space_figures` say what a memory space reserves and where it peaks, `padding` what tiles add,
`xla_peak` why the peak that XLA prints is another one.

`instant` is the position that rows show, `holdings` who has which bytes there, the room `values`
all that is told of a value. `allocation_rows`, `timeline`, `donation` and `headroom` are the other
parts of the `answer` of `hlotool buffers`.
"""
