"""The reasons of a diff as sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from hlotool.compare.causes.cause import Cause, CauseKind
from hlotool.fields import Unit
from hlotool.render.units import format_value

_Write: TypeAlias = Callable[[Cause, str], str]


def write_cause(cause: Cause, units: str) -> str:
    """Write one reason as half a sentence."""
    return _SENTENCES[cause.kind](cause, units)


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
    arrays = _number(cause.count, "array")
    if cause.kind == "donation lost":
        has = "its output has memory of its own"
        if cause.count > 1:
            has = "their outputs have memory of their own"
        return f"donation of {cause.subject} is gone: {arrays}, {size}; {has}"
    return f"donation of {cause.subject} is new: {arrays}, {size}, take their outputs"


def _layers(cause: Cause, units: str) -> str:
    verb = "new" if cause.kind == "layers added" else "gone"
    be = "is" if cause.count == 1 else "are"
    flops = format_value(cause.delta_flops, Unit.FLOPS, units, is_signed=True)
    held = f"all of {cause.scope} hold {_bytes(cause, units)} at the peak"
    parts = [held, f"{flops} flops/run"]
    if cause.delta_wire_bytes:
        parts.append(f"{_signed(cause.delta_wire_bytes, units)} wire/run")
    return f"{cause.subject} {be} {verb} ({', '.join(parts)})"


def _unrolled(cause: Cause, units: str) -> str:
    del units
    over = f"over {cause.left} layers " if cause.left else ""
    copies = f"{cause.count} copies, {cause.scope}{_more_layers(cause)}"
    return f"the loop {over}({cause.subject}) is unrolled: {copies}"


def _rolled(cause: Cause, units: str) -> str:
    del units
    over = f"over {cause.right} layers " if cause.right else ""
    loop = f"a loop {over}now ({cause.subject}){_more_layers(cause)}"
    return f"{cause.count} copies, {cause.scope}, are {loop}"


def _more_layers(cause: Cause) -> str:
    """Say how many layers are new or gone, as work grows with them; '' where none, or unknown."""
    if not cause.more:
        return ""
    word = "more" if cause.more > 0 else "fewer"
    return f", and so {_number(abs(cause.more), 'layer')} {word}"


def _trip_count(cause: Cause, units: str) -> str:
    flops = format_value(cause.delta_flops, Unit.FLOPS, units, is_signed=True)
    return (
        f"trip count of {cause.subject} {cause.left} → {cause.right} ({flops} flops/run, "
        f"{_bytes(cause, units)} memory traffic/run)"
    )


def _dimension(cause: Cause, units: str) -> str:
    factor = Fraction(int(cause.right or 0), int(cause.left or 1))
    be = "is" if cause.count == 1 else "are"
    follow = f"{_number(cause.count, 'result')} {be} ×{factor}"
    return (
        f"{cause.subject} {cause.left} → {cause.right}: {follow} "
        f"({_bytes(cause, units)} of results/run)"
    )


def _products(cause: Cause, units: str) -> str:
    del units
    products = _number(cause.count, "matrix product")
    return f"{products} moved from {cause.left} to {cause.right}"


def _dtype(cause: Cause, units: str) -> str:
    be = "is" if cause.count == 1 else "are"
    wire = f", {_signed(cause.delta_wire_bytes, units)} wire/run" if cause.delta_wire_bytes else ""
    return (
        f"{_number(cause.count, 'result')} {be} {cause.right} in place of {cause.left} "
        f"({_bytes(cause, units)} of results/run{wire})"
    )


def _overlap(cause: Cause, units: str) -> str:
    word = "lost" if cause.kind == "overlap lost" else "gained"
    most = f", most of it {cause.subject}" if cause.subject else ""
    exposed = f"({_bytes(cause, units)} exposed/run{most})"
    if not cause.more or (cause.more > 0) != (cause.kind == "overlap lost"):  # parts of others
        return f"collectives {word} overlap {exposed}"
    count = f"{cause.left} → {cause.right} instructions have nothing that hides them"
    return f"collectives {word} overlap: {count} {exposed}"


def _collectives(cause: Cause, units: str) -> str:
    return f"{cause.left} → {cause.right} {cause.subject} ({_bytes(cause, units)} wire/run)"


def _axes(cause: Cause, units: str) -> str:
    return (
        f"{cause.count} {cause.subject} over {cause.right} in place of {cause.left} "
        f"({_bytes(cause, units)} wire/run)"
    )


def _sharding(cause: Cause, units: str) -> str:
    del units
    return (
        f"{_number(cause.count, 'parameter')} sharded otherwise: {cause.subject}, "
        f"{cause.left} → {cause.right}"
    )


def _operations(cause: Cause, units: str) -> str:
    del units
    gone = [f"{cause.left} gone"] if cause.left else []
    new = [f"{cause.right} new"] if cause.right else []
    return f"{cause.scope or 'the program'} computes something else: {'; '.join([*gone, *new])}"


def _fusing(cause: Cause, units: str) -> str:
    return (
        f"the same work in other fusions, {cause.left} → {cause.right} "
        f"({_bytes(cause, units)} memory traffic/run)"
    )


def _values(cause: Cause, units: str) -> str:
    """Say how many came and how many went: that is what the number at the peak changed by."""
    counts = ((cause.right, "came"), (cause.left, "went"))
    moved = [f"{count} {verb}" for count, verb in counts if count != "0"]
    what = " and ".join(moved) or f"{_number(cause.count, 'value')} of another size"
    scope = f" in {cause.scope}" if cause.scope else ""
    largest = f"{cause.subject}{scope} ({_bytes(cause, units)})"
    return f"values at the peak: {what}, the largest {largest}"


def _inside_fusions(cause: Cause, units: str) -> str:
    del units
    operations = _number(cause.count, "operation")
    be = "computes" if cause.count == 1 else "compute"
    return f"{operations} inside fusions {be} in {cause.right} in place of {cause.left}"


def _other(cause: Cause, units: str) -> str:
    del units
    return f"what differs is {cause.subject}"


_SENTENCES: Final[Mapping[CauseKind, _Write]] = {
    "rematerialization lost": _rematerialization,
    "rematerialization gained": _rematerialization,
    "donation lost": _donation,
    "donation gained": _donation,
    "layers added": _layers,
    "layers removed": _layers,
    "loop unrolled": _unrolled,
    "loop rolled": _rolled,
    "trip count": _trip_count,
    "dimension": _dimension,
    "products moved": _products,
    "dtype widened": _dtype,
    "dtype narrowed": _dtype,
    "overlap lost": _overlap,
    "overlap gained": _overlap,
    "collectives": _collectives,
    "axes": _axes,
    "sharding": _sharding,
    "operations": _operations,
    "fusing": _fusing,
    "values at the peak": _values,
    "dtype inside fusions": _inside_fusions,
    "other": _other,
}


def _bytes(cause: Cause, units: str) -> str:
    return _signed(cause.delta_bytes, units)


def _signed(value: int | None, units: str) -> str:
    return format_value(value, Unit.BYTES, units, is_signed=True)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
