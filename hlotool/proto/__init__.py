"""From an HLO proto to the text that XLA prints of it, byte for byte.

Files that `--xla_dump_hlo_as_proto` writes, and what JAX hands out, hold a module as a protobuf.
Everything behind this room reads text: a proto is printed as XLA prints it (the long form of
`HloModule::ToString`, of the version in docs/protos.md), and the parser reads that.

The map, in the order of the work:

* `hlo.proto` says what the messages hold, `messages` makes their classes.
* `kind` tells which message a file is, and reads what little needs no class; `decode` reads a
  whole file, finds the byte at which one is broken, and prints the assignment beside a module.
* `nodes` follows the ids of a module to what they name, and says in which order XLA prints.
* `module` prints the header and what follows it, and proves on how many devices the module runs;
  `instruction` prints a line, `attributes` what the opcode asks for, `sharding` what is attached
  to any: shardings, groups of devices, where it comes from.
* `values` prints types and values.
"""
