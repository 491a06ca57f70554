"""Which rows, in which order, how many, grouped how; and the language that chooses them.

The language: `grammar` makes a tree (`expression`) of a text, `mistakes` says what is wrong with
one that has none. `vocabulary` is what a tree may name, `validate` whether it makes sense for
that; `parse` does both. `words` asks, with rows at hand, whether a field
can be what it is compared with. `compile` makes a function of a tree, `where` a test of a row,
`aggregate` one figure of many rows; `measure` says what a tree over a whole program comes to,
and `unit` how that is written.

The rows: `select` applies the row options, in the order `where`, `fold`, `group` or `order`.
`sums` adds up what may be unknown, `apart` says what does not add up together; `names` reads lists
of fields, and knows what was meant.
"""
