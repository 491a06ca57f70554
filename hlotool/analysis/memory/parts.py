"""What does one usually do about a part of a program's memory, and what first?

Into which parts does a program's memory fall, one would do something about?

Every tenure of space 0 is in one part: by the class of its allocation, and by what its value that
lives longest belongs to, of those with a scope of their own. A saved activation is made by the
forward pass and needed when the backward pass runs, or a copy of one. Scopes are cut behind their
first numbered component, so that layers are one part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, groupby, starmap
from operator import itemgetter
from typing import Final, Literal, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.analysis.memory.donation import find_missed
from hlotool.analysis.memory.parameter_name import find_parameter_tree
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.rows import BufferRow, all_rows
from hlotool.analysis.memory.savings import Tenure
from hlotool.hlo import Module
from hlotool.table.names import ANY, fold_numbers

# The easiest first. A donation costs nothing; what follows costs some time of each run, and a few
# lines; then what changes what a program gets, gives and learns, or needs more devices.
PartKind: TypeAlias = Literal[
    "missed-donation",
    "saved-activations",
    "logits",
    "parameter-copy",
    "optimizer-state",
    "outputs",
    "temporaries",
    "inputs",
    "parameters",
    "constants",
]
EASIEST_FIRST: Final[tuple[PartKind, ...]] = get_args(PartKind)

# What a part is called; `{}` is the scope or the part of the arguments' tree.
TITLES: Final[Mapping[PartKind, str]] = {
    "missed-donation": "outputs beside {}",
    "saved-activations": "saved activations of {}",
    "logits": "logits in {}",
    "parameter-copy": "copies of {}",
    "optimizer-state": "optimizer state {}",
    "outputs": "outputs of {}",
    "temporaries": "temporaries of {}",
    "inputs": "input {}",
    "parameters": "parameters {}",
    "constants": "constants",
}
REMEDIES: Final[Mapping[PartKind, str]] = {
    "missed-donation": "donate",
    "saved-activations": "checkpoint, or offload",
    "logits": "compute the loss in chunks",
    "parameter-copy": "keep one layout and precision",
    "optimizer-state": "offload, shard, lower precision",
    "outputs": "return less, or shard",
    "temporaries": "smaller batches, or shard",
    "inputs": "shard",
    "parameters": "shard, or lower precision",
    "constants": "pass as arguments, and shard",
}

PART_MEANINGS: Final[Mapping[PartKind, str]] = {
    kind: f"{title.format('…')}; the usual remedy: {REMEDIES[kind]}"
    for kind, title in TITLES.items()
}

# Names of optimizers' states in trees of arguments: optax's, and what hand-written ones use.
_OPTIMIZER: Final = re.compile(
    r"(?<![A-Za-z])(?:opt|opt_state|optimizer|optimizer_state|mu|nu|m|v|momentum|velocity|trace|ema)"
    r"(?![A-Za-z0-9])"
)
# What the last component of a scope is called where logits are made and compared.
_LOGITS: Final = re.compile(
    r"(?i)(?:.*_)?(?:logits?|head|unembed(?:ding)?|loss(?:_fn)?|cross_entropy(?:_loss)?)"
)
_FORWARD: Final = "jvp("
_BACKWARD: Final = "transpose("


class Part(Struct, frozen=True, eq=False):
    """Tenures one would do the same about; `of` is a scope, or a part of the arguments' tree."""

    kind: PartKind
    of: str
    tenures: list[Tenure] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What it is called."""
        return TITLES[self.kind].format(self.of)


def divide_memory(report: MemoryReport, module: Module | None) -> list[Part]:
    """Return the parts of space 0; none where nothing says when values live."""
    told: dict[Tenure, dict[str, BufferRow]] = {}
    for row in all_rows(report, module, 0):
        if row.held and row.held.tenure:
            told.setdefault(row.held.tenure, {})[row.value] = row
    missed = dict(find_missed(module)) if module else {}
    turn = _find_turn(report, module) if module else None
    parts: dict[tuple[PartKind, str], Part] = {}
    kind: PartKind
    for tenure, row in chain.from_iterable(starmap(_split, told.items())):
        trees = (missed[value.key] for value in tenure.values if value.key in missed)
        tree = next(trees, None) if tenure.is_owner and row.class_ == "output" else None
        if tree is not None:
            kind, of = "missed-donation", tree
        else:
            kind, of = _name_owner(row) if tenure.is_owner else _name_temporary(row, tenure, turn)
        parts.setdefault((kind, of), Part(kind, of)).tenures.append(tenure)
    return list(parts.values())


def _split(tenure: Tenure, rows: Mapping[str, BufferRow]) -> Iterator[tuple[Tenure, BufferRow]]:
    """Divide a tenure where the backward pass writes over what the forward pass made.

    Both need the bytes, each in its time. Yields each with the value that tells what it is.
    """
    held = sorted(zip(tenure.values, tenure.blocks, strict=True), key=lambda one: one[1].start)
    sides = _fill([_find_side(rows[value.name]) for value, _ in held])
    is_uniform = len({(block.low, block.high) for block in tenure.blocks}) == 1
    if tenure.is_owner or not is_uniform or len(set(sides)) == 1:
        yield tenure, max(rows.values(), key=_rank)
        return
    parts = [
        [one for _, one in part]
        for _, part in groupby(zip(sides, held, strict=True), itemgetter(0))
    ]
    ends = [part[0][1].start - 1 for part in parts[1:]]
    for part, end in zip(parts, [*ends, tenure.end], strict=True):
        kept = [(one, replace(block, end=min(block.end, end))) for one, block in part]
        kept = [(one, block) for one, block in kept if block.start <= block.end]
        if kept:
            values, blocks = zip(*kept, strict=True)
            best = max((rows[value.name] for value in values), key=_rank)
            yield Tenure(tenure.allocation, list(values), list(blocks)), best


def _find_side(row: BufferRow) -> bool | None:
    """Say whether the forward pass made a value, None where nobody says who made it."""
    return None if row.made_op_name is None else _is_forward(row.made_op_name)


def _fill(sides: list[bool | None]) -> list[bool | None]:
    """Let what nobody tells of be as what comes behind it; at the end, as what came before."""
    for places in (range(len(sides) - 2, -1, -1), range(1, len(sides))):
        step = 1 if places.step < 0 else -1
        for place in places:
            if sides[place] is None:
                sides[place] = sides[place + step]
    return sides


def _rank(row: BufferRow) -> tuple[bool, int]:
    """Rank who tells of a tenure: who has a scope of its own or its maker, the longest-lived."""
    return row.made_op_name is not None, row.live_positions or 0


def _name_owner(row: BufferRow) -> tuple[PartKind, str]:
    """Say what kind of part a parameter, an output or a constant is in, and of what."""
    if row.class_ == "constant":
        return "constants", ""
    if row.class_ == "output":
        return "outputs", _cut_scope(row.scope)
    tree = row.parameter_tree or row.parameter or "?"
    if _OPTIMIZER.search(tree):
        return "optimizer-state", tree
    return "parameters" if row.is_donated else "inputs", tree


def _name_temporary(row: BufferRow, tenure: Tenure, turn: int | None) -> tuple[PartKind, str]:
    """Say what kind of part any other value is in, and of what."""
    if row.moved_parameter is not None and row.scope_from not in {"own", "maker"}:
        return "parameter-copy", find_parameter_tree(row.moved_parameter) or row.moved_parameter
    scope = _cut_scope(row.scope)
    if row.scope and _LOGITS.fullmatch(row.scope.rpartition("/")[2]):
        return "logits", fold_numbers(row.scope)
    is_saved = _is_forward(row.made_op_name or "") and turn is not None and tenure.end >= turn
    return "saved-activations" if is_saved else "temporaries", scope


def _cut_scope(scope: str | None) -> str:
    """Cut a scope behind its first numbered component; one without any, behind its first."""
    if scope is None:
        return "no scope"
    components = fold_numbers(scope).split("/")
    numbered = (place for place, one in enumerate(components) if one.endswith(ANY))
    return "/".join(components[: next(numbered, 0) + 1])


def _is_forward(op_name: str) -> bool:
    return _FORWARD in op_name and _BACKWARD not in op_name


def _find_turn(report: MemoryReport, module: Module) -> int | None:
    """Return where the backward pass begins; None where nothing was differentiated.

    That is its first instruction behind a quarter of the forward pass: schedules put some that
    depend on nothing, such as zeros to add to, before all others.
    """
    if report.map.lifetimes is None:
        return None
    names = {one.name: one.metadata().op_name for one in module.instructions()}
    names |= {one.full_name: one.metadata().op_name for one in module.instructions()}
    sequence = [names.get(name, "") for name in report.map.lifetimes.sequence]
    forward = [place for place, name in enumerate(sequence) if _is_forward(name)]
    backward = [place for place, name in enumerate(sequence) if _BACKWARD in name]
    quarter = forward[len(forward) // 4] if forward else 0
    return next((place for place in backward if place > quarter), None)
