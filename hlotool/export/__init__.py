"""Answers for other tools, in the formats that these read.

* `ci` writes budgets for CI systems: GitHub annotations, JUnit XML, SARIF.

How do answers look to other tools? Each format is a file.

`stacks` makes weighted stacks of the rows of any list that has a path into the user's program:
`folded` writes them for flame graphs, `pprof` for pprof. `perfetto` writes tracks over time,
`model_explorer` a graph with namespaces. `messages` makes the classes of protobuf messages from
tables of fields.
"""
