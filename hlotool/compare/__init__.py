"""What changed between two programs.

`inputs` finds and reads both sides, of some of which only figures were saved.
`pairing` says which programs of two directories are one. `match` pairs the instructions of two,
`changes` lists what differs, one file a list, `causes` says why. `report` compares two programs in
every respect, `answer` declares the document that becomes. `directory` has the rows of many pairs,
`several` the figures of more than two; `passes` compares a compilation step by step, `trace`
follows instructions through it.
"""
