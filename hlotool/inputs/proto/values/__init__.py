"""How does XLA write single values?

`shapes` are types, `literals` constants, and `numbers` what these hold. `sharding`, `mesh` and
`groups` say which devices take part, `dimensions` windows, paddings and what each dimension is for,
`origins` where an instruction comes from. `escape` writes foreign text.
"""
