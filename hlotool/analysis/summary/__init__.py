"""What is worth knowing first: of one module, and of the programs of a directory?

`report` is all of it, from every analysis. Its own is `module_counts`: what the module is
(`module_facts`), its opcodes (`opcode_rows`) and element types (`dtype_rows`), both from one count
of all results (`result_counts`); its loops (`loop_rows`), and what each moves and sends
(`loop_loads`); under what it was compiled (`compilation`), and on a chip what limits it
(`run_bound`) and how long a run takes (`run_estimate`).
`program_row` is one program of a directory. `answer` is what `hlotool summary` prints of these.
"""
