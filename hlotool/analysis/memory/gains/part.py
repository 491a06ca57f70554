"""Into which parts does a program's memory fall, one would do something about?

Every tenure of space 0 is in one part: by the class of its allocation, and by what its value that
lives longest belongs to, of those with a scope of their own. A saved activation is made by the
forward pass and needed when the backward pass runs, or a copy of one. Scopes are cut behind their
first numbered component, so that layers are one part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from hlotool.analysis.dataflow.in_place import follow
from hlotool.analysis.memory.donation import find_donations
from hlotool.analysis.memory.gains.remedy import TITLES, PartKind
from hlotool.analysis.memory.gains.tenure import Tenure
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.values.parameter_name import find_parameter_tree
from hlotool.analysis.memory.values.value_rows import BufferRow, all_rows
from hlotool.fields.paths import ANY, fold_numbers
from hlotool.ir.buffers import ValueKey
from hlotool.ir.module import Module

# Names of optimizers' states in trees of arguments: optax's, and what hand-written ones use.
_OPTIMIZER: Final = re.compile(
    r"(?<![A-Za-z])(?:opt|opt_state|optimizer|optimizer_state|mu|nu|m|v|momentum|velocity|trace|ema)"
    r"(?![A-Za-z0-9])"
)
_LOGITS: Final = re.compile(
    r"(?i)logit|softmax|cross_entropy|(?<![a-z])(?:loss|head|lm_head|unembed)"
)
_ARGUMENT: Final = re.compile(r"[^.\[{]+")
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
    told: dict[Tenure, BufferRow] = {}
    for row in all_rows(report, module, 0):
        tenure = row.held.tenure if row.held else None
        if tenure is not None and (tenure not in told or _rank(row) > _rank(told[tenure])):
            told[tenure] = row
    missed = dict(_find_missed(module)) if module else {}
    turn = _find_turn(report, module) if module else None
    parts: dict[tuple[PartKind, str], Part] = {}
    kind: PartKind
    for tenure, row in told.items():
        trees = (missed[value.key] for value in tenure.values if value.key in missed)
        tree = next(trees, None) if tenure.is_owner and row.class_ == "output" else None
        if tree is not None:
            kind, of = "missed-donation", tree
        else:
            kind, of = _name_owner(row) if tenure.is_owner else _name_temporary(row, tenure, turn)
        parts.setdefault((kind, of), Part(kind, of)).tenures.append(tenure)
    return list(parts.values())


def _rank(row: BufferRow) -> tuple[bool, int]:
    """Rank who tells of a tenure: who has a scope of its own or its maker, the longest-lived."""
    return row.made_op_name is not None, row.span or 0


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
    if _LOGITS.search(scope):
        return "logits", scope
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


def _find_missed(module: Module) -> Iterator[tuple[ValueKey, str]]:
    """Yield the outputs that could lie in a parameter, and the argument that it is of."""
    for row in find_donations(module):
        if row.status != "not-donated" or row.output_index is None:
            continue
        made, index = follow(module.entry.root, row.output_index)
        argument = _ARGUMENT.match(row.parameter_name or "")
        of = argument[0] if argument else f"parameter {row.parameter}"
        yield (made.name, index), of  # as assignments name it
        yield (made.full_name, index), of  # and estimates
