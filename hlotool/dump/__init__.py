"""Where files are, how their bytes are read, and how many are worked through at once.

* `stores` finds the place of a path: `local` files, `archives`, addresses (`remote`).
* `compression` undoes gzip, bzip2, xz and zstd.
* `workers` applies a function to many inputs: in processes, an executor, or a Dask cluster.

From the PATH a user types to texts of known kind, and to the programs of a directory.

`find_inputs` is the way in, `find_inputs_in_text` and `find_inputs_in_compiled` for what is no
file: they return frozen records that say which files belong together; `DumpFile.read` gives the
text. `map_inputs` does the same work for each of many. Nothing of HLO is parsed here beyond
telling kinds apart, and where a module begins and ends.

The map, in the order of the work:

* `find` takes the PATH: a file, standard input, or a directory.
* `stores` are where files lie: here, in an archive, at an address.
* `read` makes text of a file and says what kind of text it is, or why it is refused.
* `dump` finds what belongs together: the files beside one, the programs of a directory.
* `live` takes what JAX has compiled in this process.
* `workers` applies a function to many inputs, in `processes` of our own or any executor.
* `saved` reads JSON documents that hlotool wrote.
"""
