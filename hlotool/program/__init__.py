"""One program, and everything that is worked out about it once.

`program` is the lazy object that commands, findings, diffs and budgets ask, with what the user
assumes beside the dump. `load` makes one of files, and says what of them was not understood;
`siblings` are the files beside its text: flags, and the mesh. `metrics` declares what budgets and
diffs may ask by name. `fleet` makes the rows of many programs, and keeps them. `oom_match` finds
the program that an out-of-memory message is about, and says whether it would have fitted.
"""
