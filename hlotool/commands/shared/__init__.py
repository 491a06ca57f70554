"""What all commands share: how one is declared, which dump it reads, how its answer gets out.

`command` makes a function a subcommand that prints documents. `dump_options` are PATH and the
options that choose in it, `request` the value they become and the way to one program.
`row_options` are those about rows and output, `stack_option` is --stack, `machine_options` are
--chip and its kin, `config_option` is --config, `assumptions` what these two come to, `promised`
says how good an estimate is; `output` prints a document as they have it, `files` writes files
whole. `budgets` runs those of `--budget` and of `hlotool check`. `say` and `progress` speak on
stderr, `stages` says how far one program is, `typed_line` is the command line that does the
next thing.
"""
