"""What changed between two modules, or two directories of them.

`terms` says what is compared, `signature` what one instruction is, `fingerprint` what a
computation is, `matching` pairs the instructions of two computations and `structure` those
of two modules, `reasons` says why a pair differs. The blocks of the report stand on these.
"""
