"""What a diff lists, one file a list or block of its answer.

`changes` finds the instructions that differ, `reasons` says why, `fold` counts what changed
alike. `fusions` (with `fusion_families`: split, merged), `collectives` and `memory` look at
what matters most. `metrics` has the figures side by side, `headline` the few that come first.
`header`, `flags` and `order` tell what lies outside the instructions. `text` writes both
programs line by line. `columns` declares what several lists show.
"""
