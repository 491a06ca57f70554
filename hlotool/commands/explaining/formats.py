"""Which forms does an answer have, and who reads each?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_GRAPH: Final = "what gives to a thing and takes from it as a graph"
_CI: Final = "budgets for a CI system"

FORMAT_MEANINGS: Final[Mapping[str, str]] = {
    "table": "tables and sentences for a terminal",
    "json": "the whole answer, every figure exact; `hlotool schema COMMAND` has its JSON Schema",
    "jsonl": "the rows of one list as JSON, one a line",
    "csv": "the rows of one list with commas between",
    "tsv": "the rows of one list with tabs between",
    "parquet": "the rows of one list for DuckDB, pandas or Spark",
    "markdown": "tables and sentences for a pull request or an issue",
    "folded": "the rows of one list by scope, for a flame graph: flamegraph.pl, speedscope.app",
    "pprof": "the rows of one list by scope, for `go tool pprof`, which draws flame graphs too",
    "perfetto": "the modelled clock as a trace for ui.perfetto.dev",
    "model-explorer": "the program as a graph by scope, for Model Explorer",
    "dot": f"{_GRAPH}, for Graphviz",
    "mermaid": f"{_GRAPH}, for markdown of GitHub",
    "github": f"{_CI}: annotations of GitHub Actions",
    "junit": f"{_CI}: JUnit's XML",
    "sarif": f"{_CI}: SARIF, for code scanning",
}
