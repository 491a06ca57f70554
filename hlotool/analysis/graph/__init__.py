"""What runs, in which order and how often: the shape of a program, before any figure of it?

`backend` tells who wrote the module, `space_names` what that backend calls its memory spaces,
`host_transfers` what passes the host. `call_graph` orders computations so that callees come first.
`executions` counts how often each computation runs, of the `trip_counts` of the loops around it,
which `scalars` follows to their constants; `runs` adds up those of some instructions.
`fingerprint` says when two computations are the same, `value_numbers` when two instructions hold
the same value.
"""
