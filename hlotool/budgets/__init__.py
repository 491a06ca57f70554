"""Budgets: from their texts to results, one a module.

`rule` compiles what a configuration says, `judge` evaluates it over a program, `names` says
what it may speak of. Knows no files and no command line.
"""
