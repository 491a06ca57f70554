"""Why is a program bigger or slower than the other?

`cause` is the record, `meanings` says what its kinds mean, `evidence` what the finders look at,
`find` asks them all. One file a kind of cause: `rematerialization`, `donation`, `layers`,
`unrolling` (of loops over layers), `loops`, `dimensions`, `products` (who computes matrix
products), `dtypes`, `overlap`, `communication` (number of collectives, axes, cuts), `operations`
(what the user's program computes), `fusing`, `values` (what else is held at the peak), `rest`
(what no other covers). `op_names` reads the scopes of a text, `families` which of them are
numbered. `input_program` says whether the program that XLA was given is the same, `triage` who
can have done it.
"""
