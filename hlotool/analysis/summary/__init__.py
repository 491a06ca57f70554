"""What is worth knowing first: of one module, and of the programs of a directory?

`report` is all of it, from every analysis. Its own is `module_counts`: what the module is
(`module_facts`), its opcodes (`opcode_rows`), element types (`dtype_rows`) and loops
(`loop_rows`); opcodes and types come from one count of all results (`result_counts`).
`program_row` is one program of a directory. `answer` is what `hlotool summary` prints of these.
"""
