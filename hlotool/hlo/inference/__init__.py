"""Which shape does an instruction have whose text states none?

Texts written by hand leave shapes out, and XLA's parser infers them. The results are those of
ShapeInference (xla/service/shape_inference.cc), as the parser calls it.

* `rules` has the rule of each opcode: the table to look at first.
* `elementwise`, `moves`, `products`, `windows`, `calls` and `solvers` are the rules.
* `operands` is what they ask and how they say no, `types` which element type wins; `sizes`
  bounds what they may answer.
"""
