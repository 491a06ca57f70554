"""What crosses the interconnect, how many bytes, and what hides it.

report     every collective of a module, and what `hlotool collectives` answers
rows       what is said of one logical collective, of its operands, and of what goes between
           device and host, which is no collective
totals     what they add up to: by kind, by interconnect, and together
transfers  what each sends, once and per step, and to how many
logical    which printed instructions are one logical collective, and how often it runs
groups     which devices talk to each other, in whatever notation
mesh       along which mesh axes they lie, and inside which nodes
machine    chips, links and nodes that times are estimated for
overlap    what work hides of each, in schedule order, and which instructions are work
"""
