"""The reasons of a diff as sentences, each half a line of the verdict.

Most kinds have a template in hlotool/data/reasons.toml; those that say one thing or another have a
function. Numbers are those of `compare.causes`, here they are only written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from hlotool.compare.causes.cause import KINDS, Cause
from hlotool.table import Unit
from hlotool.table.units import format_value
from hlotool.table.words import count_noun, plural

_Write: TypeAlias = Callable[[Cause, str], str]


def write_cause(cause: Cause, units: str) -> str:
    """Write one reason as half a sentence."""
    template = KINDS[cause.id].says
    if not template:
        return _SENTENCES[cause.id.partition("-")[0]](cause, units)
    size = _bytes(cause, units)
    held = f" ({size} on a device)" if cause.delta_bytes else ""
    rounds = cause.old if cause.id in {"loop-gone", "loop-removed", "loop-joined"} else cause.new
    several, parts, arrays = (
        count_noun(str(cause.count), noun) for noun in ("constant", "parameter", "array")
    )
    sent = format_value(cause.delta_sent_bytes, Unit.BYTES, units, is_signed=True)
    flops = format_value(cause.delta_flops, Unit.FLOPS, units, is_signed=True)
    work = f" ({flops} flops/step, {size} memory traffic/step)"
    return template.format(
        one=cause,
        held=held,
        parts=f": the parts of {parts} have other shapes{held}" if cause.count else "",
        arrays=f"{arrays}, {format_value(abs(cause.delta_bytes or 0), Unit.BYTES, units)}",
        constants=plural(cause.count, "a constant", several),
        loop=plural(cause.count, "a loop", "loops") + f" of {rounds} iterations" * bool(rounds),
        inside=f", in {cause.scope}" if cause.scope else "",
        count=str(cause.count),
        size=size,
        flops=flops,
        sent=f", {sent} sent/step" if cause.delta_sent_bytes else "",
        work=work if cause.delta_bytes is not None else "",
        where=_where(cause),
        be=plural(cause.count, "is", "are"),
        plural=plural(cause.count, "", "s"),
        verb=plural(cause.count, "computes", "compute"),
        memory=plural(cause.count, "its output has", "their outputs have")
        + " memory of "
        + plural(cause.count, "its own", "their own"),
    )


def write_place(cause: Cause) -> str:
    """Write where in the user's files a reason is, behind its sentence."""
    return f" ({cause.source})" if cause.source else ""


def _where(cause: Cause) -> str:
    return f" in {cause.scope}" if cause.scope else ""


def _rematerialization(cause: Cause, units: str) -> str:
    is_lost = cause.id == "rematerialization-lost"
    what = "lost" if is_lost else "gained"
    more = "more" if is_lost else "fewer"
    where = f" in {cause.subject}" if cause.subject else ""
    if cause.count is None:
        makes = "recomputes nothing" if is_lost else "recomputes values"
        return f"rematerialization {what}{where}: the backward pass {makes}"
    return (
        f"rematerialization {what}{where}: {cause.count} {more} values live from the "
        f"forward to the backward pass ({_bytes(cause, units)} at the peak)"
    )


def _moved(cause: Cause, units: str) -> str:
    del units
    way, rounds = ("out of", cause.old) if cause.new == "1" else ("into", cause.new)
    return f"{cause.subject}{_where(cause)} moved {way} a loop of {rounds} iterations"


def _loop(cause: Cause, units: str) -> str:
    """Say that a loop was unrolled, or rolled."""
    del units
    is_unrolled = cause.id == "loop-unrolled"
    layers = cause.old if is_unrolled else cause.new
    over = f"over {layers} layers " if layers else ""
    # Work grows with the layers that are new; 0 where none are, or that is unknown.
    word = "more" if cause.more and cause.more > 0 else "fewer"
    is_counted = cause.scope and cause.more
    more = f", and so {count_noun(str(abs(cause.more or 0)), 'layer')} {word}" * bool(is_counted)
    family = f", {cause.scope}" if cause.scope else ""
    copies = f"{cause.count} copies{family}" if cause.scope or not cause.more else "copies"
    if is_unrolled:
        return f"the loop {over}({cause.subject}) is unrolled: {copies}{more}"
    return f"{copies}, are a loop {over}now ({cause.subject}){more}"


def _dimension(cause: Cause, units: str) -> str:
    factor = Fraction(int(cause.new or 0), int(cause.old or 1))
    be = plural(cause.count, "is", "are")
    follow = f"{count_noun(str(cause.count), 'result')} {be} ×{factor}"
    change = f"{cause.subject} {cause.old} → {cause.new}"
    if not cause.count:  # or nobody can tell, as arrays are sharded otherwise as well
        return change
    return f"{change}: {follow} ({_bytes(cause, units)} of results/step)"


def _constraint(cause: Cause, units: str) -> str:
    del units
    where = _where(cause) or " outside of any scope"
    if cause.old and cause.new:
        return f"values{where} are constrained to {cause.new} instead of {cause.old}"
    verb = "gone" if cause.old else "new"
    return f"the constraint of values{where} to {cause.old or cause.new} is {verb}"


def _overlap(cause: Cause, units: str) -> str:
    word = "lost" if cause.id == "overlap-lost" else "gained"
    most = f", most of it {cause.subject}" if cause.subject else ""
    exposed = f"({_bytes(cause, units)} exposed/step{most})"
    if not cause.more or (cause.more > 0) != (cause.id == "overlap-lost"):  # parts of others
        return f"collectives {word} overlap {exposed}"
    count = f"collectives without any overlap: {cause.old} → {cause.new}"
    return f"collectives {word} overlap: {count} {exposed}"


def _operations(cause: Cause, units: str) -> str:
    del units
    gone = [f"{cause.old} gone"] if cause.old else []
    new = [f"{cause.new} new"] if cause.new else []
    where = " in the backward pass" if cause.subject else ""
    what = cause.scope or "the program"
    return f"{what} computes something else{where}: {'; '.join([*gone, *new])}"


def _values(cause: Cause, units: str) -> str:
    """Say how many are new and freed: by that the number at the peak changed."""
    counts = ((cause.new, "new"), (cause.old, "freed"))
    moved = [f"{count} {verb}" for count, verb in counts if count != "0"]
    what = " and ".join(moved) or f"{count_noun(str(cause.count), 'value')} of another size"
    largest = f"{cause.subject}{_where(cause)} ({_bytes(cause, units)})"
    return f"buffers at the peak: {what}, the largest {largest}"


def _bytes(cause: Cause, units: str) -> str:
    return format_value(cause.delta_bytes, Unit.BYTES, units, is_signed=True)


# By how their kinds begin.
_SENTENCES: Final[Mapping[str, _Write]] = {
    "rematerialization": _rematerialization,
    "moved": _moved,
    "loop": _loop,
    "dimension": _dimension,
    "constraint": _constraint,
    "overlap": _overlap,
    "operations": _operations,
    "buffers": _values,
}
