"""Dataflow: which memory is seen where, and how long.

`schedule` is the time: the one sequence in which instructions run. `values` are what is followed;
`trace_values` walks the schedule once, by one rule for each kind of instruction, and drops the phis
where only one value ever meets. `sharing` says which output must lie in the memory of which
operand, and which one may. `live ranges` puts it together: from when to when each value is live.
"""
