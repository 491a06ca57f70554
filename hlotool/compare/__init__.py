"""What changed between two programs?

`sides` finds and reads both; `saved` stands in for one of which only the figures are there.
`pairing` says which programs of two directories are one, by `similar` content among others.
`match` pairs their instructions, `blocks` lists what differs, one file a list. `report`
compares two programs (a `side` each) in every respect, `comparison` is what it finds, `answer` the
document that becomes, `threshold` says
what in it is worse, `why` what speaks for a pair. `directory` has the rows of many pairs of
programs, `several` the figures of more than two; `passes` compares a compilation step by step.
"""
