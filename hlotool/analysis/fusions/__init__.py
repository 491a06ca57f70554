"""Fusions and custom calls: what each costs, what it saves, and where a fusion is missing.

`rows` declares the records and lists that `hlotool fusions` answers with. `report` finds, prices
and times the fusions, opens one (`--body`), and is the census of custom calls. `missed` lists what
no fusion took in, and what several compute again.
"""
