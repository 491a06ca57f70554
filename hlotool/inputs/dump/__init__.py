"""Which files of a dump belong together?

* `files` holds the records that commands get; `role` what a file may be to its module.
* `file_name` and `split_name`: the parts of a name that XLA gave. `short_path` names a file in
  a few words, and `header` has its first line.
* One file as PATH: `one_file` says what it is, `siblings` what stands beside it.
* A directory: `directory` walks it (`walk`), settles what each file is (`member`), puts the
  files of one module into `groups`, finds the module of nameless buffers (`orphans`), joins
  groups that are one program (`pairing`, `same_program`), and says which text stands for it
  (`choice`). The result is a `program`.
* `places` tells programs of one name apart, `named` which of them `--module` means.
* A text of `several_modules` is a program for each.
"""
