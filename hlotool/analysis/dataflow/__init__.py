"""Which memory is seen where, and how long?

`schedule` is the time: the one sequence in which instructions run. `values` are what is
followed; `dataflow` finds them all by `flow_rules`, one for each kind of instruction, and
drops the `phis` where only one value ever meets. `in_place` says which output must lie in
the memory of which operand, `may_share` which one may. `lifetimes` puts it together: from
when to when each value is live, with an `async_end` for what runs meanwhile, and `groups` of
what shares a buffer.

`forerunners` says which values an output was before it was moved and updated.

The estimate of a buffer assignment also asks for the `last_position` of a value and for the
`post_order` of instructions.
"""
