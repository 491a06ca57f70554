"""From an HLO proto to the text that XLA prints of it, byte for byte.

Files that `--xla_dump_hlo_as_proto` writes, and what JAX hands out, hold a module as a protobuf.
Everything behind this room reads text: a proto is printed as XLA prints it (the long form of
`HloModule::ToString`, of the version in docs/protos.md), and the parser reads that.

The map, in the order of the work:

* `hlo.proto` says what the messages hold, `messages` makes their classes.
* `kind` tells which message a file is, and `decode` reads it; `damage` finds the byte at which
  one is broken, `weight` what it would take in memory, both by the fields that `wire` lists.
* `nodes` follows the ids of a module to what they name, `order` says in which order XLA prints.
* `module` prints the header and the tables (`frames` those of stack frames, `counts` says how many
  devices there are), `computation` what stands between braces, `instruction` a line of it,
  `attributes` (a room) what the opcode asks for.
* `buffers` prints the buffer assignment that stands beside a module.
* `values` (a room) prints single values.

Importing any of it but `kind` needs the package protobuf.
"""
