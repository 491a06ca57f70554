"""What does a profile say: which programs ran, and how long each of their instructions took?

`*.xplane.pb`, as JAX and TensorFlow write it, is an XSpace: planes of devices and hosts, each with
lines of events, and a plane with the HLO protos of the programs that ran.

* `space` walks a file: planes, their lines, and the events of a line, some at a time.
* `tables` reads what a plane says of its events once: their names and statistics.
* `programs` takes the HLO protos out, and says which instruction belongs to which collective.
* `events` says of which instruction an event is; `tally` adds them up on each device, and
  `measure` makes a `Measurement` of that for each program.
* `files` puts the profiles of one run together, and makes programs of them.

Importing any of it but `kind` needs the package protobuf.
"""
