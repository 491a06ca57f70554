"""What a diff lists, one file a list or block of its answer.

`changes` finds the instructions that differ, `reasons` says why, `fold` counts what changed
alike. `fusions` does so for fusions: `fusion_events` finds what changed, `fusion_families` what
was split or merged. `memory` compares the values that `memory_pairs` has paired, `collectives`
what crosses the interconnect, `run_time` how long a run takes. `metrics` has the figures side by
side, `headline` the few that come first. `header`, `flags` and `order` tell what lies outside the
instructions. `text` writes both programs line by line. `columns` declares what several lists show.
"""
