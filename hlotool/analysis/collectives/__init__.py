"""What crosses the interconnect, how many bytes, and what hides it.

answer      what `hlotool collectives` answers: the declaration
rows        what is said of one logical collective
report      what crosses the interconnect in one run? Puts all below together
transfers   what does each collective send, and to how many?
logical     which printed instructions are one logical collective?
notes       which of them does a module have, and which belong together?
chains      which fusions carry one transfer together (TPU)?
running     where does a collective run, and how often?
effect      is a fused all-reduce a reduce-scatter in effect?
wire_bytes  how many bytes does it hold, and how many does a device send?
groups      a room: which devices talk to each other, and how do they lie?
overlap     a room: what hides it, and how long would it take?
maker       who asked for it: the user, or the partitioner?
operands    what does a combined collective consist of?
totals      what do all of them add up to? The records
sums        how do they add up?
host_rows   what goes between device and host, and is no collective?
"""
