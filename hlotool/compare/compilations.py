"""The compilations of one function in a folder, and what made each of them new.

The texts before optimizations tell, and the flags beside them. A compilation is compared with the
earlier one that differs from it least. All that an argument's shape or type changes in the program
follows from it; where arguments, shardings and donation are the same, the program itself is
compared. Where all is the same, no dump shows what was not: nobody guesses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.shardings.report import ArrayRow, Placement
from hlotool.analysis.summary.report import ReasonKind, ReasonRow
from hlotool.compare.changes.header import compare_flags
from hlotool.dump.files import Input
from hlotool.dump.names import Stage, short_path, split_file_name
from hlotool.errors import HlotoolError
from hlotool.hlo.attribute_values import drop_metadata
from hlotool.hlo.module import Header
from hlotool.hlo.scanner import STRING
from hlotool.program.program import Program
from hlotool.program.siblings import Flags, parse_signature, read_flags
from hlotool.table.sums import group_by
from hlotool.table.words import count_noun, list_some

_Difference: TypeAlias = tuple[ReasonKind, str, str | None, str | None]  # subject, old, new
_MOST_NAMED: Final = 3
_MOST_COMPARED: Final = 64  # compilations of one function, the last ones
_LONGEST: Final = 24  # characters of a constant
_FIRST_COMPUTATION: Final = re.compile(r"^(?:ENTRY\s|%)", re.MULTILINE)
_SHARDINGS: Final = re.compile(
    rf", sharding=\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}"
    rf"|, frontend_attributes=\{{xla\.sdy\.\w+={STRING}\}}"
)
_CONSTANT: Final = re.compile(r"^( *+(?:ROOT )?\S++ = (\S++)) constant\((.*)\)", re.MULTILINE)
_ALIASED: Final = re.compile(r"\(([0-9]{1,9}), ")
_ELIDED: Final = "constant({...})"
_FOLLOWS: Final = "xla_detailed_logging"  # JAX sets it by the size of a program


class _Given(Struct, frozen=True, eq=False):
    """What XLA was given for one compilation: header and arguments, what is computed, flags."""

    place: str
    header: Header
    mesh: str
    arguments: Mapping[str, tuple[ArrayRow, Placement]]
    body: str  # without what only notes
    flags: Flags | None

    def is_same_as(self, other: _Given) -> bool:
        """Whether nothing differs."""
        return self.body == other.body and not any(_compare(self, other))

    def list_donated(self) -> set[str]:
        """Return the arguments whose memory may be taken."""
        aliases = _ALIASED.findall(self.header.attributes.get("aliases", ""))
        numbers = {*map(int, aliases), *(each.parameter for each in self.header.donors)}
        return {name for name, (row, _) in self.arguments.items() if row.number in numbers}


def find_compilations(inputs: Sequence[Input], directory: str) -> list[ReasonRow]:
    """List what made compilations new: the largest function first, each in XLA's order.

    Of one folder: others are of other processes. So are modules of one name and number, of which
    nothing is said, nor of texts that are missing or cannot be read.
    """
    groups = group_by(
        (one for one in inputs if one.before and one.stage is Stage.AFTER),
        lambda one: (os.path.dirname(one.path), one.name),  # noqa: PTH120  paths stay strings
    )
    rows: list[ReasonRow] = []
    by_size = sorted(groups.items(), key=lambda each: -max(one.size_bytes for one in each[1]))
    for (_, function), members in by_size:
        numbered = {split_file_name(os.path.basename(one.path)).number: one for one in members}  # noqa: PTH119
        if len(numbered) == len(members) > 1 and None not in numbered:
            ordered = sorted(numbered.items(), key=lambda each: each[0] or 0)
            found = [_read(one, directory) for _, one in ordered]
            rows += _explain(function, [one for one in found if one])
    return rows


def _read(chosen: Input, directory: str) -> _Given | None:
    """Read what XLA was given; None where that cannot be."""
    with suppress(HlotoolError):
        if chosen.before is None:
            return None
        source = chosen.before.read()
        module = parse_signature(source, source.text.partition("\n")[0])
        report = Program(module.name, module).shardings
        rows = report.parameters
        names = [row.name or "" for row in rows]
        if len({*names}) < len(names):
            names = [f"argument {at}" for at in range(len(rows))]
        arguments = zip(names, zip(rows, report.placed_parameters, strict=True), strict=True)
        begin = _FIRST_COMPUTATION.search(source.text)
        axes = report.mesh.axes if report.mesh else ()
        return _Given(
            short_path(chosen.path, directory),
            module.header,
            " × ".join(f"{axis.name}={axis.size}" for axis in axes),
            dict(arguments),
            drop_metadata(source.text[begin.start() if begin else 0 :]),
            read_flags(chosen).printed,
        )
    return None


def _explain(function: str, compilations: Sequence[_Given]) -> Iterator[ReasonRow]:
    """Yield what made each compilation of a function new, the first aside."""
    for at, one in enumerate(compilations[1:], 1):
        # The same as any before, else as it differs from the last.
        earlier = [*reversed(compilations[max(0, at - _MOST_COMPARED) : at])]
        nearest = next((other for other in earlier if other.is_same_as(one)), earlier[0])
        differences = list(_compare(nearest, one))
        if not differences:
            elided = one.body.count(_ELIDED)
            left = f"except {count_noun(elided, 'constant')} left out of the dump" if elided else ""
            differences = [("nothing", left, None, None)]
        alike = group_by(differences, lambda each: (each[0], each[2], each[3]))
        for (kind, old, new), some in alike.items():
            subject = list_some([each[1] for each in some], _MOST_NAMED)
            yield ReasonRow(
                function, one.place, at + 1, nearest.place, kind, len(some), subject, old, new
            )


def _compare(old: _Given, new: _Given) -> Iterator[_Difference]:
    """Yield what differs; of the program only where that is no consequence of the arguments."""
    found = list(_compare_signatures(old, new))
    yield from found
    if not any(kind in {"argument", "shape", "type"} for kind, *_ in found):
        yield from _compare_bodies(old, new, is_alone=not found)


def _compare_signatures(old: _Given, new: _Given) -> Iterator[_Difference]:
    """Yield what differs in the arguments, the header and the flags."""
    here, there = old.arguments, new.arguments
    donated = [side.list_donated() for side in (old, new)]
    for name in {**here, **there}:
        if name not in here or name not in there:
            shapes = [
                side[name][0].global_shape if name in side else None for side in (here, there)
            ]
            yield "argument", name, shapes[0], shapes[1]
            continue
        (row, placed), (other, now) = here[name], there[name]
        types = [(each.global_shape or "").partition("[") for each in (row, other)]
        if types[0][2] != types[1][2]:
            yield "shape", name, row.global_shape, other.global_shape
        if types[0][0] != types[1][0]:
            yield "type", name, types[0][0], types[1][0]
        if placed.spec != now.spec and types[0][2] == types[1][2]:
            is_mesh = row.spec_text == other.spec_text
            texts = (old.mesh, new.mesh) if is_mesh else (row.spec_text, other.spec_text)
            yield "sharding", name, *texts
        sides = ["donated" if name in names else "not donated" for names in donated]
        if sides[0] != sides[1]:
            yield "donation", name, sides[0], sides[1]
    if old.flags is not None and new.flags is not None:
        for flag in compare_flags(old.flags, new.flags):
            if flag.flag != _FOLLOWS:
                yield "flag", flag.flag, flag.old, flag.new


def _compare_bodies(old: _Given, new: _Given, *, is_alone: bool) -> Iterator[_Difference]:
    """Yield what differs in the program where the arguments are the same.

    Without another reason (`is_alone`) another text is told, whatever differs in it.
    """
    bodies = [_SHARDINGS.sub("", side.body) for side in (old, new)]
    shapes = [_CONSTANT.sub(r"\1 constant()", body) for body in bodies]
    if shapes[0] != shapes[1]:
        yield "program", "operations", None, None
    elif bodies[0] != bodies[1]:
        found = (_CONSTANT.findall(body) for body in bodies)
        for (_, shape, before), (_, _, after) in zip(*found, strict=True):
            if before != after:
                yield "constant", shape.partition("{")[0], before[:_LONGEST], after[:_LONGEST]
    elif is_alone and old.body != new.body:
        yield "sharding", "values inside", None, None
    elif is_alone and old.header.attributes != new.header.attributes:
        yield "program", "header", None, None
