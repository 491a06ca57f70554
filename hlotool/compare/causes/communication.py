"""Causes in what crosses the interconnect, and in who computes: engines and fusions.

The finders that `causes/find` asks here: collectives more or fewer, and over other axes; overlap;
matrix products by another engine, which is a library or an emitter of XLA's; fusions. Each reads
what was worked out already: rows of changes, metrics, the two modules.

Bytes of collectives are bytes sent per device per step (CollectiveChange); those of fusions are
moved in memory per step. A cause must point the way its bytes went: fewer collectives never
explain more bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.fusions.rows import find_backend_kind
from hlotool.compare.causes.cause import MOST_LINES, Cause, Evidence, list_executed
from hlotool.compare.changes.collectives import CollectiveChange
from hlotool.hlo import Instruction
from hlotool.hlo.opcodes import MATRIX_PRODUCTS
from hlotool.program.program import Program
from hlotool.table.words import list_some

_AXES: Final = "axes "  # how a detail of `changes/collectives` begins that tells of them


# -- what crosses the interconnect


def find_communication(evidence: Evidence) -> Iterator[Cause]:
    """Yield the changes of axes, and of each kind the change of the number that weighs most.

    A number is no reason for bytes that changed the other way, nor where as many run: a loop over
    layers has one for all of them.
    """
    told: set[str] = set()  # kinds
    for row in evidence.collectives:  # the largest difference comes first
        axes = next((each for each in row.details if each.startswith(_AXES)), None)
        more = row.new_count - row.old_count
        is_opposed = row.delta_bytes * more < 0
        runs_otherwise = row.old_executions != row.new_executions
        if axes is not None:
            old, _, new = axes.removeprefix(_AXES).partition(" → ")
            what, delta = (row.count, row.kind, row.scope, old, new), row.delta_bytes
            yield Cause("axes", *what, "sent", delta, delta_sent_bytes=delta)
        elif more and runs_otherwise and not is_opposed and row.kind not in told:
            told.add(row.kind)
            yield from _tell_number(evidence, row)


def _tell_number(evidence: Evidence, row: CollectiveChange) -> Iterator[Cause]:
    """Yield how many of a kind run over these axes, unless as many do.

    A change is of one group size and type; those of another may have come in their place.
    """
    sides = [
        [one for one in program.collectives.rows if (one.kind, one.axes) == (row.kind, row.axes)]
        for program in (evidence.old, evidence.new)
    ]
    old, new = (sum(one.count for one in side) for side in sides)
    before, after = (sum(one.known_sent_bytes_per_step or 0 for one in side) for side in sides)
    if new != old and (new - old) * (after - before) >= 0:
        what = abs(new - old), _name_collectives(row), row.scope, str(old), str(new)
        delta = after - before
        lines = dict.fromkeys(one.source for one in sides[new > old] if one.source)
        cause = Cause("collectives", *what, "sent", delta, delta_sent_bytes=delta)
        yield replace(cause, source=list_some([*lines], MOST_LINES) or None)


def _name_collectives(row: CollectiveChange) -> str:
    """Write `all-gather over fsdp`."""
    return f"{row.kind} over {', '.join(row.axes)}" if row.axes else row.kind


_LEAST_EXPOSED: Final = 0.01  # of the bytes sent


def find_overlap(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause if another part of what collectives send has nothing that hides it.

    `count` is how many more or fewer have nothing at all; `old` and `new` are how many of each
    side. Less than a hundredth of what is sent is no reason, nor is a larger part of less that is
    exposed.

    Bytes are bytes sent per step that nothing hides, beyond what would be if the part of those
    sent were the old side's: twice as much that is sent is no overlap lost. With 10 of 100 MiB
    exposed on the old and 40 of 200 on the new side, 20 % - 10 % of 200 MiB are lost, 20 MiB.
    """
    sent = evidence.metrics.get("collectives.sent_bytes_per_step")
    exposed = evidence.metrics.get("collectives.exposed_bytes_per_step")
    if not (sent and exposed and sent.old and sent.new):
        return
    if exposed.old is None or exposed.new is None:
        return
    change = exposed.new / sent.new - exposed.old / sent.old
    if abs(change) < _LEAST_EXPOSED or (exposed.delta or 0) * change < 0:
        return
    old, new = (
        sum(row.exposed_share == 1 for row in side.collectives.rows)
        for side in (evidence.old, evidence.new)
    )
    changes = [row for row in evidence.collectives if (_more_exposed(row) > 0) == (change > 0)]
    largest = max(changes, key=lambda row: abs(_more_exposed(row)), default=None)
    kind = "overlap-lost" if change > 0 else "overlap-gained"
    name, delta = _name_collectives(largest) if largest else None, round(change * sent.new)
    yield Cause(kind, abs(new - old), name, None, str(old), str(new), "exposed", delta)


def _more_exposed(row: CollectiveChange) -> int:
    return (row.new_exposed_bytes or 0) - (row.old_exposed_bytes or 0)


# -- who computes

# By how the target of a custom call, or the backend's name of a fusion, begins; longer ones first.
_ENGINES: Final = (
    ("__cublas$lt", "cuBLASLt"),
    ("__cublas", "cuBLAS"),
    ("__cudnn", "cuDNN"),
    ("__onednn", "oneDNN"),
    ("__triton", "Triton"),
    ("__ynn", "YNNPACK"),
    ("__xnn", "XNNPACK"),
)


def find_products(evidence: Evidence) -> Iterator[Cause]:
    """Yield the largest move of matrix products from one engine to another.

    Which product went where is not asked: the engine that lost most gave to the one that gained
    most, as many as both tell of.
    """
    old, new = _count_products(evidence.old), _count_products(evidence.new)
    fewer, more = old - new, new - old
    if fewer and more:
        (before, gone), (after, come) = fewer.most_common(1)[0], more.most_common(1)[0]
        yield Cause(id="matmul-backend-changed", count=min(gone, come), old=before, new=after)


def _count_products(program: Program) -> Counter[str]:
    """Count the instructions that multiply matrices by their engine; those that never run not."""
    engines = (_find_engine(one) for one, runs in list_executed(program) if runs)
    return Counter(engine for engine in engines if engine)


def _find_engine(one: Instruction) -> str | None:
    """Return the engine of a product, None of what is none."""
    if one.opcode in MATRIX_PRODUCTS:
        return f"plain {one.opcode}"
    if one.opcode == "custom-call":
        return _name_engine(one.attributes.get("custom_call_target", "").strip('"'))
    body = one.callee() if one.opcode == "fusion" else None
    if body is None or not any(each.opcode in MATRIX_PRODUCTS for each in body.instructions):
        return None
    return _name_engine(find_backend_kind(one) or "") or "a fusion of XLA"


def _name_engine(kind: str) -> str | None:
    return next((name for prefix, name in _ENGINES if kind.startswith(prefix)), None)


_LEAST_MOVED: Final = 0.001  # of the memory traffic


def find_fusing(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause if the number of fusions differs, but the work does not.

    It is the same if XLA was given the same operations; where a text of these is missing, if the
    flops are. What moves less than a thousandth of the bytes more or less is no reason.
    `count` is how many more or fewer; bytes are those moved in memory per step, by all that
    runs.
    """
    is_same = evidence.inputs.is_same
    if is_same is None:
        is_same = not evidence.delta("cost.total_flops_per_step")
    row = evidence.metrics.get("fusions.fusion_count")
    traffic = evidence.metrics.get("cost.traffic_bytes_per_step")
    if not is_same or row is None or not row.delta or traffic is None:
        return
    if abs(traffic.delta or 0) < _LEAST_MOVED * (traffic.old or 0):
        return
    counts = abs(int(row.delta)), None, None, f"{row.old}", f"{row.new}"
    yield Cause("fusion-structure-changed", *counts, "traffic", int(traffic.delta or 0))
