"""What is told of a value: the rows of `hlotool buffers`, and who made it.

`value_rows` are the rows. `value_origin` finds where a value comes from: its `makers`, or where
they have no line its `users`. `definers` finds the instructions behind the names of an assignment,
`use_counts` how often a value is read, `parameter_name` what the user calls a parameter.
"""
