"""Answers for other tools, in the formats that these read.

`graph` writes nodes and arrows as dot, Mermaid and for Model Explorer; `parquet` rows as typed
columns; `profilers` rows as weighted stacks for flame graphs and pprof, and tracks over time for
Perfetto.
"""
