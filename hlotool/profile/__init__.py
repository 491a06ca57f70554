"""The programs that ran under a profiler, and how long each of their instructions took.

`*.xplane.pb`, as JAX and TensorFlow write it, is an XSpace: planes of devices and hosts, each with
lines of events, and a plane with the HLO protos of the programs that ran.

* `space` walks a file: planes, their lines, the events of a line, some at a time, and what a plane
  says of its events once, their names and statistics. It takes the HLO protos out, and says which
  instruction belongs to which collective.
* `measure` says of which instruction an event is, adds events up on each device, and makes a
  `Measurement` of that for each program.
"""
