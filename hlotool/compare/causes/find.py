"""All reasons for which two programs differ: what somebody changed first, most bytes first.

Finders know nothing of each other. What one cause accounts for in another's place is settled here:
values at the peak are told where no cause explains it, collectives are left out that new layers
bring, and what fits no kind is told as `other`, where nothing else was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.compare.causes import arrays, communication, edits, memory, structure
from hlotool.compare.causes.account import AccountRow, settle
from hlotool.compare.causes.cause import KINDS, Cause, Claim, Evidence, list_sources
from hlotool.compare.changes.figures import PEAKS
from hlotool.table.words import list_some

# What somebody may have written, and what accounts for whole parts of a program.
_PARTS: Final = (
    memory.find_rematerialization,
    structure.find_layers,
    structure.find_loops,
    structure.find_copies,
)
# What follows, or is the compiler's own.
_CONSEQUENCES: Final = (
    memory.find_dtypes,
    communication.find_products,
    communication.find_overlap,
    communication.find_communication,
    communication.find_fusing,
)
_SHARE: Final = 0.5
_LEAST: Final = 0.001  # of a peak, so that it needs a reason
_DTYPE: Final = "dtype "
# By how much memory is more for a reason; what is not donated takes memory of its own.
_ON_MEMORY: Final = {
    "peak": 1,
    "peak of all layers": 1,
    "donated": -1,
    "results": 1,
    "parameters": 1,
}
_COMPUTING: Final = frozenset(("operations", "scope-new", "scope-gone"))
_EVERYWHERE: Final = ("mesh", "sharding", "dimension", "repeated", "layers-")  # at no line
_CUT: Final = frozenset(("mesh", "sharding", "constraint"))


class Findings(Struct, frozen=True):
    """All reasons, and how much of each figure they account for."""

    causes: tuple[Cause, ...] = ()
    account: tuple[AccountRow, ...] = ()


def find_causes(evidence: Evidence) -> Findings:
    """Find what somebody changed in the program, then what may follow, and draw up the account.

    What else is held at the peak is told where others account for less than half of its difference,
    what else differs where there is no other. Collectives more or fewer are no reason of their own
    where new layers bring them.
    """
    claims: list[Claim] = []
    if not evidence.inputs.is_same:
        claims += arrays.find_arrays(evidence)
        parts = [claim for find in _PARTS for claim in find(evidence)]
        told = {one for claim in parts for one in claim.touched}
        claims += [*parts, *edits.Edits(evidence, told).find()]
    claims += map(Claim, memory.find_donation(evidence))
    # A constant may be one of other operations that run: those come first.
    computing = not {claim.cause.id for claim in claims}.isdisjoint(_COMPUTING)
    claims = sorted(_join_rounds(claims), key=partial(_rank, computing=computing))
    new = evidence.given.programs[1].module
    found = [
        one.cause
        if one.cause.source or one.cause.id.startswith(_EVERYWHERE)
        else replace(one.cause, source=list_sources(one.touched, new))
        for one in claims
    ]
    found += [cause for find in _CONSEQUENCES for cause in find(evidence)]
    if _is_peak_open(evidence, found):
        found += memory.find_values(evidence)
    if _are_of_layers(found):
        found = [one for one in found if one.id != "collectives"]
    if any(one.id in _CUT for one in found):  # then a device has other work, over other axes
        found = [one for one in found if one.id not in {"axes", "fusion-structure-changed"}]
    # Who computes comes first, then what moves most bytes.
    follow = sorted(
        found[len(claims) :],
        key=lambda one: (one.id != "matmul-backend-changed", -abs(one.delta_bytes or 0)),
    )
    causes = [*found[: len(claims)], *follow] or list(_find_dtypes_inside(evidence))
    causes = causes or list(_find_kinds(evidence))
    doers = [Cause(id="compilation", count=1)] if evidence.inputs.is_same else causes
    return Findings(tuple(causes), settle(evidence, claims or list(map(Claim, doers))))


def _rank(one: Claim, *, computing: bool) -> tuple[bool, float, bool, int]:
    """Return what comes first: by kind, then by how much of the program it changed."""
    cause = one.cause
    is_late = computing and cause.id == "constant-changed"
    is_anywhere = cause.id == "operations" and cause.scope is None
    return is_late, KINDS[cause.id].order, is_anywhere, -len(one.touched)


def _join_rounds(claims: Sequence[Claim]) -> Iterator[Claim]:
    """Yield claims, dimensions with the loops whose rounds they count."""
    rounds = {(one.cause.old, one.cause.new) for one in claims if one.cause.id.startswith("trip-")}
    for claim in claims:
        cause = claim.cause
        if cause.id == "dimension" and (cause.old, cause.new) in rounds:
            cause = replace(cause, subject=f"trip count and {cause.subject}")
        yield Claim(cause, claim.touched)


def _is_peak_open(evidence: Evidence, found: Sequence[Cause]) -> bool:
    """Say whether the peak differs, and no reason is found for half of it."""
    rows = (evidence.metrics.get(path) for path in PEAKS)
    peak = next((row for row in rows if row and row.delta is not None), None)
    delta = (peak.delta or 0) if peak else 0
    if peak is None or abs(delta) <= _LEAST * (peak.old or 0):
        return False
    told = sum(_ON_MEMORY.get(one.measure or "", 0) * (one.delta_bytes or 0) for one in found)
    return (told if delta > 0 else -told) <= _SHARE * abs(delta)


def _are_of_layers(found: Sequence[Cause]) -> bool:
    """Say whether layers send all the bytes that collectives more or fewer do.

    Of copies in place of a loop nobody counts what they send: more of them send more.
    """
    of_layers = sum(one.delta_sent_bytes or 0 for one in found if one.id.startswith("layers-"))
    sent = sum(one.delta_bytes or 0 for one in found if one.id == "collectives")
    copies = [one.more or 0 for one in found if one.id in {"loop-unrolled", "loop-rolled"}]
    return bool(of_layers and sent == of_layers) or any(more * sent > 0 for more in copies)


def _find_dtypes_inside(evidence: Evidence) -> Iterator[Cause]:
    """Yield each change of the element type that operations inside fusions have.

    `count` are the operations in the text.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for row in evidence.instructions:
        for detail in row.details if row.is_fused else ():
            if detail.startswith(_DTYPE):
                old, _, new = detail.removeprefix(_DTYPE).partition(" → ")
                counts[old, new] += row.count
    for (old, new), count in counts.most_common():
        yield Cause("dtype-inside-fusions", count, old=old, new=new)


def _find_kinds(evidence: Evidence) -> Iterator[Cause]:
    """Yield the kinds of differences of the instructions and of the header, as one cause.

    `count` are the instructions; `subject` names the kinds that most of them have.
    """
    kinds: Counter[str] = Counter()
    for row in evidence.instructions:
        for reason in row.reasons or (f"{row.change} {row.opcode}",):
            kinds[reason] += row.count
    kinds.update(change.name for change in evidence.header)
    if kinds:
        names = [f"{kind} ×{count}" if count > 1 else kind for kind, count in kinds.most_common()]
        count = sum(row.count for row in evidence.instructions) or None
        yield Cause(id="other", count=count, subject=list_some(names, 4))
