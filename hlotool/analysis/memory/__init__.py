"""Memory: who holds it, how much, and when.

`report` is the way in: it measures a program and returns its `figures`. `check_assignment` refuses
a buffer assignment that is not the module's, or not all of it; without one, `estimate` makes one
up, with what `buffer_assigner` knows of XLA's.

`memory_map` knows which bytes are in use when, who has them, and what would be saved without them;
its curves are added up by `intervals`. `rows` says all that is told of a value, with where it comes
from (`value_origins`). `timeline`, `donation` and `reduction_plan` are the other parts of the
`answer` of `hlotool buffers`. The plan goes by `parts` of the memory, by what a `checkpoint` leaves
of them, and by what would be reserved with more of it `donated`.
"""
