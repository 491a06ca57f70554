"""Which instructions of two modules do the same work?

First what one is: `terms` (what counts), `comparable` and `backend_config` (the spelling of its
parts), `signature` (all of it), `content_numbers` (with its operands and uses; a computation).
Then who is whose partner: `two_programs` asks, `pairing_steps` goes down from the entries by what
partners call (`called`), and `structure` is the answer. `layers` aligns numbered repeats;
`matching` pairs two computations, stage by stage, by ever looser `views` and `colours`, from which
pairs spread by `growth`, and `partners` keeps them; `replaced` pairs another opcode in the same
place, where `places` says at which operand a value is used; `moved` looks across computations, and
`beside` at what stands beside, both by `flow`. `shape_changes` tells two shapes apart.
"""
