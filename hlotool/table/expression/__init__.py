"""The expression language of `--where`, of budgets and of custom calls: text → tree → function.

`grammar` makes a tree of a text, or says what is wrong with it; it alone imports pyparsing, which
is slow to load, and is itself imported only where there is a text. `check` holds the tree against
the names that it may use, and returns it with a type on every part: everything after it relies
on that. `compile` makes functions of a checked tree: of a row, or of the figures of a program.
For the option `--where` it goes all the way, and asks with rows at hand whether its words exist.
"""
