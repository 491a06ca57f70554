"""What changed between two programs?

`sides` finds and reads both; `saved` stands in for one of which only the figures are there.
`match` pairs their instructions, `blocks` lists what differs, one file a list. `report`
compares two programs in every respect; `answer` is the document it becomes. `directory` has
the rows of many pairs of programs, `passes` compares a compilation step by step.
"""
