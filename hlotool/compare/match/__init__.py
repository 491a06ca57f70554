"""Which instructions of two modules do the same work?

First what one is: `terms` (what counts), `comparable` and `backend_config` (the spelling of its
parts), `signature` (all of it), `content_numbers` (with its operands and uses; a computation).
Then who is whose partner: `structure` (two modules), `layers` (numbered repeats, aligned),
`matching` (two computations, stage by stage) by ever looser `views` and `colours`, from which pairs
spread by `growth`; `partners` keeps them. `moved` looks across computations, which `flow` looks
through, `beside` at what stands beside pairs, `replaced` at another opcode in the same place.
`places` says at which operand a value is used. `shape_changes` tells two shapes apart.
"""
