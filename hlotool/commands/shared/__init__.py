"""What all commands share: how one is declared, which dump it reads, how its answer gets out.

`command` makes a function a subcommand that prints documents, with its help. `options` are those
that commands share, and the values they become: rows and output, the dump, the machine, the
configuration. `request` is the dump that the user
means, the way to one program of it, and what stderr shows while that goes on. `output` makes text
of a document, and writes it to stdout or a file. `budgets` runs those of `--budget` and of
`hlotool check`. `messages` go to stderr; `memory_text` is what several commands say of memory.
"""
