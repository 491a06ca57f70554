"""Which element types do a module's results have, and how many bytes of each?"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Annotated

from msgspec import Struct

from hlotool.analysis.summary.result_counts import ResultCounts, add_known
from hlotool.fields import BYTES, COUNT, column
from hlotool.ir.opcodes import PASSES_ON
from hlotool.ir.shape import DTYPES


class DtypeRow(Struct, frozen=True):
    """One element type of array results."""

    dtype: Annotated[str, column("the element type of array results", words=DTYPES)]
    count: Annotated[int, column("array results of that type, including fused ones", COUNT)]
    result_bytes: Annotated[
        int | None,
        column("size of these results, each instruction counted once", BYTES, heading="results"),
    ]


class _DtypeTally(Struct, eq=False):
    count: int = 0
    result_bytes: int | None = 0


def count_dtypes(results: ResultCounts) -> tuple[DtypeRow, ...]:
    """Count array results by element type; a tuple's elements where the tuple is made.

    Opcodes that only pass a tuple on are left out, or its elements would count again. Bytes
    are those of the shapes with tile padding; None where one is unknown.
    """
    made: Counter[int] = Counter()
    for group in results.groups:
        for opcode, counts in group.by_opcode.items():
            passes_on = opcode in PASSES_ON
            for key, count in counts.items():
                if not (passes_on and results.shapes[key].is_tuple):
                    made[key] += count
    tallies: defaultdict[str, _DtypeTally] = defaultdict(_DtypeTally)
    for key, count in made.items():
        for leaf in results.shapes[key].leaves():
            tally, size = tallies[leaf.dtype], results.size_of(leaf)
            tally.count += count
            part = None if size is None else size * count
            tally.result_bytes = add_known(tally.result_bytes, part)
    return tuple(
        DtypeRow(dtype, tally.count, tally.result_bytes) for dtype, tally in sorted(tallies.items())
    )
