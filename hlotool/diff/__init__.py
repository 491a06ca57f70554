"""What changed between two programs.

`terms` says what is compared, `signature` and `backend_config` what one instruction is,
`fingerprint` what a computation is. `matching` pairs the instructions of two computations,
by `views` and `colours`, then what was `replaced`; `structure` pairs those of two modules.
`reasons` says why a pair differs, `changes` lists all of it, `fold` counts what is alike.
`metrics`, `memory`, `collectives`, `fusions` (with their `lineage`), `header`, `flags`,
`order` and `text` are the blocks that stand on these; `report` puts them together, `saved`
stands in for a program that is there only as figures, `passes` walks a compilation.
"""
