"""From the PATH a user types to texts of known kind, and to the programs of a directory.

`find.resolve_inputs` is the way in, `resolve_text` and `resolve_compiled` for what is no
file: they return frozen records (`files`) that say which files belong together; `DumpFile.read`
gives the text. Nothing of HLO is parsed here beyond telling kinds apart, and where a module begins
and ends. What a file holds is one word everywhere, a `TextKind`; when in the compilation it was
printed another, a `Stage`.

The map, in the order of the work:

* `find` takes the PATH: a file, standard input, or a directory.
* `read` knows the place of a path and makes text of bytes. `stores` are this machine and addresses,
  `archives` zip and tar; `compression` undoes gzip and its like, and tells binary files apart.
  `budget` limits what may be fetched and unpacked.
* `text_kind` says what a text is, or why it is refused; `modules` cuts it into modules and reads
  their headers.
* `names` takes file names apart, `siblings` finds what stands beside one file, `groups` puts the
  files of a directory together, and `directory` makes programs of these and chooses among them.
* `workers` applies a function to many inputs: in processes, an executor, or a Dask cluster.
* `saved` reads JSON documents that hlotool wrote.
"""
