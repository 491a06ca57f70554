"""Which opcodes does a module have, how often do they run, and how much do they make?"""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

from msgspec import Struct

from hlotool.analysis.summary.result_counts import ResultCounts, add_known
from hlotool.fields import BYTES, COUNT, SECONDS, column, figure
from hlotool.ir.opcodes import OPCODES, PASSES_ON


class OpcodeRow(Struct, frozen=True):
    """One opcode. `executions` is None under a loop of unknown trip count."""

    opcode: Annotated[str, column("the opcode; async sugar is undone", words=OPCODES)]
    count: Annotated[int, figure("instructions in the text", COUNT)]
    executed_count: Annotated[
        int,
        column(
            "instructions that run on their own: in the entry, loop bodies, branches",
            COUNT,
            heading="executed",
        ),
    ]
    fused_count: Annotated[
        int,
        column(
            "instructions inside fusions, reducers and other embedded computations",
            COUNT,
            heading="fused",
            give_way=1,
        ),
    ]
    executions: Annotated[
        int | None,
        column(
            "how often executed instructions run in one run of the entry; null under a loop of "
            "unknown trip count",
            COUNT,
            heading="runs",
            once="known_executions",
        ),
    ]
    known_executions: Annotated[
        int, figure("the same with unknown trip counts taken as one", COUNT)
    ]
    result_bytes: Annotated[
        int | None, figure("size of all results, each instruction counted once", BYTES)
    ]
    executed_bytes: Annotated[
        int | None,
        column(
            "size of the results of executed instructions, each counted once; opcodes that only "
            "pass values on make none",
            BYTES,
            heading="makes",
        ),
    ]
    measured_count: Annotated[
        int | None,
        figure(
            "from a profile: how often they ran there, in all runs on all devices; null if never",
            COUNT,
            heading="measured",
            null_text="",
            is_summed=False,
        ),
    ] = None
    measured_seconds: Annotated[
        float | None,
        figure(
            "from a profile: time of all their executions in one run on one device, the mean of "
            "those profiled; a loop's is that of all it runs",
            SECONDS,
            heading="measured/run",
            null_text="",
            is_summed=False,
        ),
    ] = None


class _OpcodeTally(Struct, eq=False):
    """Counts of one opcode while they are taken; None as soon as a part is unknown."""

    count: int = 0
    executed_count: int = 0
    executions: int | None = 0
    known_executions: int = 0
    result_bytes: int | None = 0
    executed_bytes: int | None = 0


def count_opcodes(results: ResultCounts) -> tuple[OpcodeRow, ...]:
    """Count instructions, executions and bytes of each opcode; in alphabetical order.

    `count` is of all instructions in the text, `executed_count` of those in computations
    that run on their own, `fused_count` the rest (bodies of fusions, reducers, comparators,
    and computations nothing calls). `executions` is how often the executed ones run in one
    run of the entry. `result_bytes` adds up the results of all of them, `executed_bytes` of
    the executed ones, each instruction once; opcodes that only pass on what exists (tuple,
    get-tuple-element, while, …) make nothing in `executed_bytes`. Bytes are those of the
    shapes with tile padding (docs/numbers.md); None where a shape's size is unknown.
    """
    tallies: defaultdict[str, _OpcodeTally] = defaultdict(_OpcodeTally)
    for group in results.groups:
        runs, known_runs = group.executions, group.known_executions
        for opcode, counts in group.by_opcode.items():
            tally, count, size = tallies[opcode], counts.total(), results.sum_bytes(counts)
            tally.count += count
            tally.result_bytes = add_known(tally.result_bytes, size)
            if group.is_executed:
                tally.executed_count += count
                tally.executions = add_known(
                    tally.executions, None if runs is None else runs * count
                )
                tally.known_executions += known_runs * count
                if opcode not in PASSES_ON:
                    tally.executed_bytes = add_known(tally.executed_bytes, size)
    return tuple(_row(opcode, tally) for opcode, tally in sorted(tallies.items()))


def _row(opcode: str, tally: _OpcodeTally) -> OpcodeRow:
    return OpcodeRow(
        opcode=opcode,
        count=tally.count,
        executed_count=tally.executed_count,
        fused_count=tally.count - tally.executed_count,
        executions=tally.executions,
        known_executions=tally.known_executions,
        result_bytes=tally.result_bytes,
        executed_bytes=tally.executed_bytes,
    )
