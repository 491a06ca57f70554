"""Budgets: what they say, what they come to, and what they are compared with.

`config` is what a project has written, `rule` compiles it. `judge` holds one rule against one
program, `run` all of them against the modules of a dump; `results` declares the answer, which `ci`
writes for CI systems. `baseline` keeps the figures that later runs compare with, `history` those of
many runs, and says since when they are what they are.
"""
