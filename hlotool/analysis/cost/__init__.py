"""What a module costs: arithmetic and memory traffic, as XLA's HloCostAnalysis counts them.

report            what does one run of the module cost? The figures of a summary
model             how do costs add up, over computations, calls and loops?
instruction_costs what does each instruction cost? Puts all below together
cost              the record that is added up
operations        how much arithmetic does an instruction do itself?
matrices          how many flops are a dot, a ragged-dot and a scaled-dot?
convolutions      how many flops is a convolution?
invocations       how often does an instruction run the computations it names?
memory_traffic    how many bytes does it move, in each memory space, as a clock would see?
touched           which bytes does a fusion touch, behind views too?
call_figures      which figures of a custom call may rules name?
custom_calls      what does a custom call compute, as far as its text tells?
attention         how many flops is fused attention?
traffic           how many bytes does one instruction read and write?
fused_traffic     how many bytes does a fusion really read of each operand, and write?
sizes             how many bytes and elements does a shape have?
products          in which type does a matrix product compute?
chips             what can a chip do? Peaks, for estimates of time
arithmetic        how long does arithmetic take on a chip, by the types of its products?
"""
