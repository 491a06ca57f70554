"""The reasons of a diff as sentences, each half a line of the verdict.

Most kinds are a template of the fields of a `Cause`; those that say one thing or another have a
function. Numbers are those of `compare.causes`, here they are only written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from hlotool.compare.causes.cause import Cause, CauseKind
from hlotool.table import Unit
from hlotool.table.units import format_value
from hlotool.table.words import count_noun, plural

_Write: TypeAlias = Callable[[Cause, str], str]


def write_cause(cause: Cause, units: str) -> str:
    """Write one reason as half a sentence."""
    template = _TEMPLATES.get(cause.kind)
    if template is None:
        return _SENTENCES[cause.kind.partition(" ")[0]](cause, units)
    return template.format(
        one=cause,
        count=str(cause.count),
        size=_bytes(cause, units),
        flops=_flops(cause, units),
        wire=_wire(cause, units),
        be=plural(cause.count, "is", "are"),
        plural=plural(cause.count, "", "s"),
        verb=plural(cause.count, "computes", "compute"),
    )


_DTYPE: Final = (
    "{count} result{plural} {be} {one.right} in place of {one.left} ({size} of results/run{wire})"
)
_TEMPLATES: Final[Mapping[CauseKind, str]] = {
    "trip count": "trip count of {one.subject} {one.left} → {one.right} ({flops} flops/run, {size} "
    "memory traffic/run)",
    "products moved": "{count} matrix product{plural} moved from {one.left} to {one.right}",
    "dtype widened": _DTYPE,
    "dtype narrowed": _DTYPE,
    "collectives": "{one.left} → {one.right} {one.subject} ({size} wire/run)",
    "axes": "{count} {one.subject} over {one.right} in place of {one.left} ({size} wire/run)",
    "sharding": "{count} parameter{plural} sharded otherwise: {one.subject}, {one.left} → "
    "{one.right}",
    "fusing": "the same work in other fusions, {one.left} → {one.right} ({size} memory "
    "traffic/run)",
    "dtype inside fusions": "{count} operation{plural} inside fusions {verb} in {one.right} in "
    "place of {one.left}",
    "other": "what differs is {one.subject}",
}


def _rematerialization(cause: Cause, units: str) -> str:
    is_lost = cause.kind == "rematerialization lost"
    what = "lost" if is_lost else "new"
    more = "more" if is_lost else "fewer"
    if cause.subject is None:
        makes = "makes nothing again" if is_lost else "makes values again"
        return f"rematerialization {what}: the backward pass {makes}"
    return (
        f"rematerialization {what} in {cause.subject}: {cause.count} {more} values live from the "
        f"forward to the backward pass ({_bytes(cause, units)} at the peak)"
    )


def _donation(cause: Cause, units: str) -> str:
    size = format_value(abs(cause.delta_bytes or 0), Unit.BYTES, units)
    arrays = count_noun(str(cause.count), "array")
    if cause.kind == "donation lost":
        own = "its output has memory of its own"
        has = plural(cause.count, own, "their outputs have memory of their own")
        return f"donation of {cause.subject} is gone: {arrays}, {size}; {has}"
    return f"donation of {cause.subject} is new: {arrays}, {size}, take their outputs"


def _layers(cause: Cause, units: str) -> str:
    verb = "new" if cause.kind == "layers added" else "gone"
    be = plural(cause.count, "is", "are")
    held = f"all of {cause.scope} hold {_bytes(cause, units)} at the peak"
    work = f"{_flops(cause, units)} flops/run{_wire(cause, units)}"
    return f"{cause.subject} {be} {verb} ({held}, {work})"


def _loop(cause: Cause, units: str) -> str:
    del units
    is_unrolled = cause.kind == "loop unrolled"
    layers = cause.left if is_unrolled else cause.right
    over = f"over {layers} layers " if layers else ""
    # Work grows with the layers that are new; 0 where none are, or that is unknown.
    word = "more" if cause.more and cause.more > 0 else "fewer"
    more = f", and so {count_noun(str(abs(cause.more)), 'layer')} {word}" if cause.more else ""
    copies = f"{cause.count} copies, {cause.scope}"
    if is_unrolled:
        return f"the loop {over}({cause.subject}) is unrolled: {copies}{more}"
    return f"{copies}, are a loop {over}now ({cause.subject}){more}"


def _dimension(cause: Cause, units: str) -> str:
    factor = Fraction(int(cause.right or 0), int(cause.left or 1))
    be = plural(cause.count, "is", "are")
    follow = f"{count_noun(str(cause.count), 'result')} {be} ×{factor}"
    change = f"{cause.subject} {cause.left} → {cause.right}"
    return f"{change}: {follow} ({_bytes(cause, units)} of results/run)"


def _overlap(cause: Cause, units: str) -> str:
    word = "lost" if cause.kind == "overlap lost" else "gained"
    most = f", most of it {cause.subject}" if cause.subject else ""
    exposed = f"({_bytes(cause, units)} exposed/run{most})"
    if not cause.more or (cause.more > 0) != (cause.kind == "overlap lost"):  # parts of others
        return f"collectives {word} overlap {exposed}"
    count = f"{cause.left} → {cause.right} instructions have nothing that hides them"
    return f"collectives {word} overlap: {count} {exposed}"


def _operations(cause: Cause, units: str) -> str:
    del units
    gone = [f"{cause.left} gone"] if cause.left else []
    new = [f"{cause.right} new"] if cause.right else []
    return f"{cause.scope or 'the program'} computes something else: {'; '.join([*gone, *new])}"


def _values(cause: Cause, units: str) -> str:
    """Say how many came and how many went: that is what the number at the peak changed by."""
    counts = ((cause.right, "came"), (cause.left, "went"))
    moved = [f"{count} {verb}" for count, verb in counts if count != "0"]
    what = " and ".join(moved) or f"{count_noun(str(cause.count), 'value')} of another size"
    scope = f" in {cause.scope}" if cause.scope else ""
    largest = f"{cause.subject}{scope} ({_bytes(cause, units)})"
    return f"values at the peak: {what}, the largest {largest}"


def _bytes(cause: Cause, units: str) -> str:
    return format_value(cause.delta_bytes, Unit.BYTES, units, is_signed=True)


def _flops(cause: Cause, units: str) -> str:
    return format_value(cause.delta_flops, Unit.FLOPS, units, is_signed=True)


def _wire(cause: Cause, units: str) -> str:
    """Write what more or less is sent, behind other figures; '' where nothing is."""
    size = format_value(cause.delta_wire_bytes, Unit.BYTES, units, is_signed=True)
    return f", {size} wire/run" if cause.delta_wire_bytes else ""


# By how their kinds begin.
_SENTENCES: Final[Mapping[str, _Write]] = {
    "rematerialization": _rematerialization,
    "donation": _donation,
    "layers": _layers,
    "loop": _loop,
    "dimension": _dimension,
    "overlap": _overlap,
    "operations": _operations,
    "values": _values,
}
