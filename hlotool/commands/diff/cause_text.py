"""The reasons of a diff as sentences, each half a line of the verdict.

Most kinds are a template of the fields of a `Cause`; those that say one thing or another have a
function. Numbers are those of `compare.causes`, here they are only written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from hlotool.compare.causes.cause import Cause, CauseId
from hlotool.table import Unit
from hlotool.table.units import format_value
from hlotool.table.words import count_noun, plural

_Write: TypeAlias = Callable[[Cause, str], str]


def write_cause(cause: Cause, units: str) -> str:
    """Write one reason as half a sentence."""
    template = _TEMPLATES.get(cause.id)
    if template is None:
        return _SENTENCES[cause.id.partition("-")[0]](cause, units)
    held = f" ({_bytes(cause, units)} on a device)" if cause.delta_bytes else ""
    parts = count_noun(str(cause.count), "parameter")
    return template.format(
        one=cause,
        held=held,
        parts=f": the parts of {parts} have other shapes{held}" if cause.count else "",
        count=str(cause.count),
        size=_bytes(cause, units),
        flops=_flops(cause, units),
        sent=_say_sent(cause, units),
        where=f" in {cause.scope}" if cause.scope else "",
        be=plural(cause.count, "is", "are"),
        plural=plural(cause.count, "", "s"),
        verb=plural(cause.count, "computes", "compute"),
    )


_DTYPE: Final = (
    "{count} result{plural} {be} {one.new} in place of {one.old} ({size} of results/step{sent})"
)
_LAYERS: Final = (
    "{{one.subject}} {{be}} {} (all of {{one.scope}} hold {{size}} at the peak, "
    "{{flops}} flops/step{{sent}})"
)
_TEMPLATES: Final[Mapping[CauseId, str]] = {
    "matmul-backend-changed": "{count} matrix product{plural} moved from {one.old} to {one.new}",
    "dtype-widened": _DTYPE,
    "dtype-narrowed": _DTYPE,
    "collectives": "{one.old} → {one.new} {one.subject} ({size} sent/step)",
    "axes": "{count} {one.subject} over {one.new} in place of {one.old} ({size} sent/step)",
    "fusion-structure-changed": "the same work in other fusions, {one.old} → {one.new} "
    "({size} memory traffic/step)",
    "dtype-inside-fusions": "{count} operation{plural} inside fusions {verb} in {one.new} in "
    "place of {one.old}",
    "rematerialization-policy": "rematerialization policy: {one.old} → {one.new} operations are "
    "computed again in the backward pass ({one.subject})",
    "arguments-new": "new arguments: {one.subject} ({size} on a device)",
    "arguments-gone": "arguments gone: {one.subject} ({size} on a device)",
    "arguments-retyped": "arguments in {one.new} instead of {one.old}: {one.subject} ({size} on a "
    "device)",
    "results": "the program returns {one.new} results instead of {one.old}",
    "scope-new": "new in the program: {one.subject}, with {one.new}",
    "scope-gone": "gone from the program: {one.subject}, with {one.old}",
    "operation-replaced": "{one.old} became {one.new}{where}",
    "type-changed": "computed in {one.new} instead of {one.old}{where}: {one.subject}",
    "shape-changed": "another shape of {one.subject}{where}: {one.old} → {one.new}",
    "attribute-changed": "{one.subject}{where}: {one.old} → {one.new}",
    "operands-swapped": "the operands of {one.subject}{where} are swapped",
    "layers-added": _LAYERS.format("new"),
    "layers-removed": _LAYERS.format("gone"),
    "mesh": "the mesh is {one.new} instead of {one.old}{parts}",
    "sharding": "{one.subject} {be} sharded {one.new} instead of {one.old}{held}",
    "compilation": "the same program was compiled otherwise",
    "other": "what differs is {one.subject}",
}


def _rematerialization(cause: Cause, units: str) -> str:
    is_lost = cause.id == "rematerialization-lost"
    what = "lost" if is_lost else "gained"
    more = "more" if is_lost else "fewer"
    where = f" in {cause.subject}" if cause.subject else ""
    if cause.count is None:
        makes = "makes nothing again" if is_lost else "makes values again"
        return f"rematerialization {what}{where}: the backward pass {makes}"
    return (
        f"rematerialization {what}{where}: {cause.count} {more} values live from the "
        f"forward to the backward pass ({_bytes(cause, units)} at the peak)"
    )


def _moved(cause: Cause, units: str) -> str:
    del units
    where = f" in {cause.scope}" if cause.scope else ""
    is_out = cause.new == "1"
    way, rounds = ("out of", cause.old) if is_out else ("into", cause.new)
    return f"{cause.subject}{where} moved {way} a loop of {rounds} rounds"


def _trips(cause: Cause, units: str) -> str:
    work = f" ({_flops(cause, units)} flops/step, {_bytes(cause, units)} memory traffic/step)"
    told = work if cause.delta_bytes is not None else ""
    return f"trip count of {cause.subject} {cause.old} → {cause.new}{told}"


def _donation(cause: Cause, units: str) -> str:
    size = format_value(abs(cause.delta_bytes or 0), Unit.BYTES, units)
    arrays = count_noun(str(cause.count), "array")
    if cause.id == "donation-lost":
        own = "its output has memory of its own"
        has = plural(cause.count, own, "their outputs have memory of their own")
        return f"donation of {cause.subject} is gone: {arrays}, {size}; {has}"
    return f"donation of {cause.subject} is new: {arrays}, {size}, take their outputs"


def _loop(cause: Cause, units: str) -> str:
    del units
    kind = cause.id.removeprefix("loop-")
    if kind.startswith("partly-"):
        return f"the loop ({cause.subject}) is {kind[7:]} in part: {cause.old} → {cause.new} rounds"
    if kind not in {"unrolled", "rolled"}:
        rounds = cause.new if kind in {"new", "added", "split"} else cause.old
        times = f" of {rounds} rounds" if rounds else ""
        what = f"{plural(cause.count, 'a loop', 'loops')}{times}"
        return _LOOPS[kind].format(what, cause.subject, f", in {cause.scope}" * bool(cause.scope))
    is_unrolled = kind == "unrolled"
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


_LOOPS: Final = {
    "new": "{} ({}{}) is new, with what it runs",
    "gone": "{} ({}{}) is gone, with what it ran",
    "added": "{} ({}{}) is new around what ran without it",
    "removed": "{} ({}{}) is gone; what it ran runs without it",
    "split": "{} ({}{}) does a part of what one loop did",
    "joined": "{} ({}{}) is gone; another does what it did as well",
}


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
    where = f"in {cause.scope}" if cause.scope else "outside of any scope"
    if cause.old and cause.new:
        return f"values {where} are constrained to {cause.new} instead of {cause.old}"
    verb = "gone" if cause.old else "new"
    return f"the constraint of values {where} to {cause.old or cause.new} is {verb}"


def _constant(cause: Cause, units: str) -> str:
    del units
    where = f" in {cause.scope}" if cause.scope else ""
    what = plural(cause.count, "a constant", f"{cause.count} constants")
    return f"{what}{where} ({cause.subject}): {cause.old} → {cause.new}"


def _overlap(cause: Cause, units: str) -> str:
    word = "lost" if cause.id == "overlap-lost" else "gained"
    most = f", most of it {cause.subject}" if cause.subject else ""
    exposed = f"({_bytes(cause, units)} exposed/step{most})"
    if not cause.more or (cause.more > 0) != (cause.id == "overlap-lost"):  # parts of others
        return f"collectives {word} overlap {exposed}"
    count = f"{cause.old} → {cause.new} instructions have nothing that hides them"
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
    scope = f" in {cause.scope}" if cause.scope else ""
    largest = f"{cause.subject}{scope} ({_bytes(cause, units)})"
    return f"buffers at the peak: {what}, the largest {largest}"


def _bytes(cause: Cause, units: str) -> str:
    return format_value(cause.delta_bytes, Unit.BYTES, units, is_signed=True)


def _flops(cause: Cause, units: str) -> str:
    return format_value(cause.delta_flops, Unit.FLOPS, units, is_signed=True)


def _say_sent(cause: Cause, units: str) -> str:
    """Write what more or less is sent, behind other figures; '' where nothing is."""
    size = format_value(cause.delta_sent_bytes, Unit.BYTES, units, is_signed=True)
    return f", {size} sent/step" if cause.delta_sent_bytes else ""


# By how their kinds begin.
_SENTENCES: Final[Mapping[str, _Write]] = {
    "rematerialization": _rematerialization,
    "donation": _donation,
    "trip": _trips,
    "moved": _moved,
    "loop": _loop,
    "dimension": _dimension,
    "constraint": _constraint,
    "constant": _constant,
    "overlap": _overlap,
    "operations": _operations,
    "buffers": _values,
}
