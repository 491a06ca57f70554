"""What is worth a look in a module: one sentence each, the costliest first.

`finding` is the record, its codes and what findings are made from; `find` holds the finders, and
asks them all.
"""
