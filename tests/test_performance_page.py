"""docs/performance.md says of each figure of `make bench` whether it misses its limit."""

from __future__ import annotations

import sys

from dump_files import ROOT

sys.path.insert(0, str(ROOT / "docs"))
from make_performance import fill, make_table

PRINTED = """\
Python 3.11.7, 2 processors, step.txt
CPU time                                        hlotool        against      ratio   limit
parse step, 2.6 MB                              26.0 ms        62.5 ms       0.42 ≤ 0.40     MISSED
hlotool --version                               48.0 ms        11.7 ms   +36.3 ms ≤ +60 ms   ok
summary of 98 modules, two processes          7839.9 ms      7602.7 ms       1.03 ≤ 1.35     ok
"""


def test_a_missed_limit_says_so() -> None:
    rows = [*make_table(PRINTED)][2:]
    assert rows == [
        "| parse step, 2.6 MB | 26.0 ms | jaxlib's parser: 62.5 ms | 0.42 | 0.40 | **MISSED** |",
        "| hlotool --version | 48.0 ms | an empty Python: 11.7 ms | +36.3 ms | +60 ms | ok |",
        (
            "| summary of 98 modules, two processes | 7839.9 ms | in one process: 7602.7 ms "
            "| 1.03 | 1.35 | ok |"
        ),
    ]
    page = (ROOT / "docs/performance.md").read_text("utf-8")
    assert "\nnew\n<!-- end -->" in fill(page, "bench", "new")
    assert page.count("MISSED**") == len([one for one in page.splitlines() if "MISSED**" in one])
