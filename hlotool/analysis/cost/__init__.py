"""What a module costs: arithmetic and memory traffic, as XLA's HloCostAnalysis counts them.

model          the costs of instructions and computations, added up over calls and loops, and
               those of one step of a module: the figures of a summary
cost           the record that is added up, the types that products compute in, and the bytes and
               elements of shapes
arithmetic     what an instruction computes itself, and how often it runs what it names
traffic        bytes that one instruction moves: as XLA counts, and as a clock would see
fused_traffic  bytes that a fusion reads of each operand and writes, behind views too
custom_calls   what a custom call computes and moves, as far as text and rules tell
chips          peaks of chips, for estimates of time
"""
