"""Which pass of a compilation changed what?

`steps` are the texts between passes, and which pass made each. `snapshot` has the figures of
one. `by_name` compares two texts of one compilation, `compared` makes the rows of a walk, and
`trace` follows what an expression chooses. `answer` declares what they answer.
"""
