"""Where files are: on this machine, in an archive, or at an address.

* `store` says what all of them can do.
* `local` is the plain case. `archive` holds the members of a zip or tar, which `zipped` and
  `tarred` list; `remote` reads addresses, with fsspec.
* `find` chooses the store of a path, and knows archives by the paths that were typed.

A path is a string in all of them: `DIR/FILE`, `ARCHIVE!/MEMBER`, `gs://BUCKET/FILE`.
"""
