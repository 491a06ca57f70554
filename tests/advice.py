"""Hold advice against programs that were compiled without the flaw, and write docs/advice.csv.

    make advice

It takes no compiler: testdata/advice has the programs, as testdata/advice/make_advice.py made them.
Exit code 1 if anything was told more than came of it, or less without a reason.
"""

from __future__ import annotations

import sys

from accuracy.advice import (
    TABLE,
    is_near,
    judge_advice,
    judge_bands,
    measure_advice,
    measure_trials,
    write_advice,
)
from accuracy.facts import FRESH
from accuracy.work import measure_work


def main() -> int:
    """Measure, print, and write."""
    found = [*measure_advice(), *measure_work(), *measure_work(FRESH)]
    TABLE.write_text(write_advice(found), "utf-8")
    print(judge_advice(found), judge_bands(found), sep="\n")  # noqa: T201
    wrong = [one for one in measure_trials() if not is_near(one) and not one.reason]
    for one in wrong:
        print(f"wrong: {one}")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
