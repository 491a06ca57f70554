"""What crosses the interconnect, how many bytes, and what hides it.

answer          what `hlotool collectives` answers: the declaration
rows            what is said of one logical collective
report          what crosses the interconnect in one run? Puts all below together
transfers       what does each collective send, and to how many?
logical         which printed instructions are one logical collective?
notes           which of them does a module have, and which belong together?
chains          which fusions carry one transfer together (TPU)?
running         where does a collective run, and how often?
effect          is a fused all-reduce a reduce-scatter in effect?
wire_bytes      how many bytes does it hold, and how many does a device send?
device_groups   which devices talk to each other?
group_reader    what groups does the text print, in whatever notation?
group_problems  where do they contradict the number of devices?
slice_groups    and which of which slices, on TPU Multislice?
networks        over which network does it run?
extent          where in the machine does it run?
mesh_axes       along which axes of the device mesh, and inside one node?
overlap         what is computed while it is under way?
work_meter      what counts as work there, and how much does it do?
overlap_work    how much is that together, and what can it hide?
exposure        how much of its bytes and of its time does that not hide?
maker           who asked for it: the user, or the partitioner?
operands        what does a combined collective consist of?
totals          what do all of them add up to? The records
sums            how do they add up?
machine         what does the user know of the machine?
link_times      how long would a transfer take on its link?
host_rows       what goes between device and host, and is no collective?
"""
