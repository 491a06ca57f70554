"""One program, and everything that is worked out about it once.

`program` is the lazy object that commands, findings, diffs and budgets ask: `given` is what it was
made of, `work` what runs in it and what that costs. `loading` makes one of files. `named` finds by
name what budgets and diffs may ask of it, `figures` says where that is, `metrics` has the unit of
each; `row` is its row in the table of a directory, `notes` what the user has to know of its files.
`assumptions` are what the user says beside the dump, `mesh_beside` the mesh that the text before
optimization names, `call_rules` those of custom calls that tell nothing themselves.
"""
