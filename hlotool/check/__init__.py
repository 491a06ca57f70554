"""Budgets: what they say, what they come to, and what they are compared with.

`budget` is one as written, `config` reads those of a project. `rule` compiles one, each text
parsed once; `estimates` refuses times where no machine is known, `words` words that nobody knows.
`judge` holds a rule against a program: `limits` is the arithmetic of margins, `broken` says
which parts of a condition do not hold, `place` finds the rows and the source line to name,
`results` declares the answer, `sentence` writes it out. `run` does this for all modules of a
dump. `baseline` writes the figures that later runs compare with; `entry` finds a module in it
again. `history` records the figures of runs, `trend` says since when they are what they are.

A project also says what custom calls cost that tell nothing themselves: `custom_call` is such
a rule as written, `written_calls` compiles them. `pattern` compiles patterns of both.
"""
