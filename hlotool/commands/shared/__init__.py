"""What all commands share: how one is declared, which dump it reads, how its answer gets out.

`command` makes a function a subcommand that prints documents, with its help. `options` are those
that commands share, and the values they become: rows and output, the dump, the machine, the
configuration; `complete` completes their values in a shell. `request` is the dump that the user
means, and the way to one program of it. `output` makes text of a document, and writes it to stdout
or a file. `budgets` runs those of `--budget` and of `hlotool check`. `messages` go to stderr,
`progress` shows there that work goes on.
"""
