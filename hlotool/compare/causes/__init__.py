"""Why a program is bigger or slower than the other: reasons found by comparison.

`cause` has the record, the meanings of its words and what finders look at, the triage of program,
flag and compiler among them. `find` asks all finders and orders what they find; they stand by
what changed: `arrays` (the mesh, shardings, global sizes, constants), `structure` (layers, loops,
unrolling, operations), `memory` (rematerialization, donation, element types, values at the peak)
and `communication` (collectives, overlap, and who computes matrix products and fusions).
"""
