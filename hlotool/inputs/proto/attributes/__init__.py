"""Which attributes does XLA write for an instruction, in which order?

`opcodes` finds them: those of `arithmetic`, of what takes `elements` along dimensions, and of what
is only `passing` values on; `shared` are those that several kinds of instructions have.
`collectives` have theirs, and so have `custom_calls`.
"""
