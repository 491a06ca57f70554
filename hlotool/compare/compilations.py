"""The compilations of one function in a folder, and what made each of them new.

The texts before optimizations tell, and the flags beside them. A compilation is compared with the
earlier one that differs from it least. All that an argument's shape or type changes in the program
follows from it; where arguments, shardings and donation are the same, the program itself is
compared. Where all is the same, no dump shows what was not: nobody guesses.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.shardings.witness import Told, ask_module, find_declared_meshes
from hlotool.analysis.summary.report import ReasonKind, ReasonRow
from hlotool.compare.causes.arrays import write_mesh
from hlotool.compare.causes.cause import InputPair
from hlotool.compare.changes.header import compare_flags
from hlotool.compare.match.proof import compute_the_same
from hlotool.compare.match.structure import are_equal
from hlotool.dump.files import DumpFile, Input
from hlotool.dump.names import Stage, short_path, split_file_name
from hlotool.errors import HlotoolError
from hlotool.hlo import Instruction, Module
from hlotool.hlo.attribute_values import drop_metadata, drop_tables
from hlotool.hlo.opcodes import FREE
from hlotool.hlo.sharding import find_spec
from hlotool.program.siblings import (
    ENTRY_ALIASES,
    ENTRY_LAYOUT,
    SiblingFlags,
    parse_signature,
    read_flags,
)
from hlotool.table.sums import group_by
from hlotool.table.words import count_noun, list_some

_Difference: TypeAlias = tuple[ReasonKind, str, str | None, str | None]  # subject, old, new
_MOST_NAMED: Final = 3
_MOST_COMPARED: Final = 16  # earlier compilations, the last ones that differ
_LONGEST: Final = 24  # characters of a constant
_FIRST_COMPUTATION: Final = re.compile(r"^(?:ENTRY\s|%)", re.MULTILINE)
_AT_PARAMETERS: Final = re.compile(r"( parameter\(\d+\)), .*")
_SHARDINGS: Final = re.compile(r", sharding=\{(?:[^{}]|\{[^{}]*\})*\}|xla\.sdy\.\w+=\"[^\"\n]*\"")
_CONSTANT: Final = re.compile(r"(\S+) constant\((.*)\)")
_ALIASED: Final = re.compile(r"\((\d+), ")
_ELIDED: Final = "constant({...})"
_SDY: Final = "xla.sdy.sharding"
_FOLLOWS: Final = "xla_detailed_logging"  # JAX sets it by the size of a program


class _Given(Struct, frozen=True, eq=False):
    """What XLA was given for one compilation: header and arguments, what is computed, flags."""

    place: str
    file: DumpFile
    signature: Module
    arguments: Mapping[str, tuple[Instruction, Told]]
    body: str  # without what only notes, and without what stands at arguments
    flags: SiblingFlags

    def is_same_as(self, other: _Given) -> bool:
        """Whether nothing differs."""
        headers = self.signature.header, other.signature.header
        is_same = self.body == other.body and headers[0].attributes == headers[1].attributes
        return is_same and not any(_compare_signatures(other, self))


def find_compilations(inputs: Sequence[Input], directory: str) -> list[ReasonRow]:
    """List what made compilations new: the largest function first, each in XLA's order.

    Of one folder: others are of other processes. So are modules of one name and number, of which
    nothing is said, nor of texts that are missing or cannot be read.
    """
    named = [
        (split_file_name(os.path.basename(one.path)), one)  # noqa: PTH119  paths stay strings
        for one in inputs
        if one.before and one.stage is Stage.AFTER
    ]
    groups = group_by(
        named,
        lambda each: (os.path.dirname(each[1].path), each[0].untimed_prefix, each[1].name),  # noqa: PTH120
    )
    explained: list[tuple[int, list[ReasonRow]]] = []
    for (_, _, function), members in groups.items():
        numbers = {name.number for name, _ in members}
        if len(members) > 1 and len(numbers) == len(members) and None not in numbers:
            members.sort(key=lambda each: each[0].number or 0)
            read = (_read(one, short_path(one.path, directory)) for _, one in members)
            found = [one for one in read if one]
            size = max((len(one.body) for one in found), default=0)
            explained.append((size, list(_explain(function, found))))
    explained.sort(key=lambda each: -each[0])
    return [row for _, rows in explained for row in rows]


def _read(chosen: Input, place: str) -> _Given | None:
    """Read what XLA was given; None where that cannot be."""
    with suppress(HlotoolError):
        if chosen.before:
            source = chosen.before.read()
            signature = parse_signature(source, source.text.partition("\n")[0])
            text = drop_tables(drop_metadata(source.text))
            begin = _FIRST_COMPUTATION.search(text)
            body = _AT_PARAMETERS.sub(r"\1", text[begin.start() :] if begin else text)
            parameters = signature.entry.parameters
            names = [
                one.metadata().op_name or f"argument {one.parameter_number}" for one in parameters
            ]
            if len({*names}) < len(names):
                names = [f"argument {one.parameter_number}" for one in parameters]
            told = ask_module(signature, "").parameters
            told = told if len(told) == len(names) else (Told(),) * len(names)
            arguments = dict(zip(names, zip(parameters, told, strict=True), strict=True))
            return _Given(place, chosen.before, signature, arguments, body, read_flags(chosen))
    return None


def _explain(function: str, compilations: Sequence[_Given]) -> Iterator[ReasonRow]:
    """Yield what made each compilation of a function new, the first aside."""
    distinct: list[_Given] = []
    for number, one in enumerate(compilations, 1):
        nearest = next((other for other in reversed(distinct) if one.is_same_as(other)), None)
        differences: list[_Difference] = []
        if nearest is None and distinct:
            ranked = [
                (len(found := list(_compare_signatures(other, one))), -at, found)
                for at, other in enumerate(distinct[-_MOST_COMPARED:])
            ]
            _, at, differences = min(ranked, key=lambda each: each[:2])
            nearest = distinct[-_MOST_COMPARED:][-at]
            if not any(kind in {"argument", "shape", "type"} for kind, *_ in differences):
                differences += _compare_bodies(nearest, one, is_alone=not differences)
            differences = differences or list(_compare_headers(nearest, one))
        if nearest is None or differences:
            distinct.append(one)
        if nearest is None:
            continue
        if not differences:
            elided = one.body.count(_ELIDED)
            left = f"{count_noun(elided, 'constant')} left out of the dump" if elided else ""
            differences = [("nothing", left, None, None)]
        alike = group_by(differences, lambda each: (each[0], each[2], each[3]))
        for (kind, old, new), found in alike.items():
            yield ReasonRow(
                function=function,
                place=one.place,
                compilation=number,
                compared_with=nearest.place,
                reason=kind,
                count=len(found),
                subject=list_some([each[1] for each in found], _MOST_NAMED),
                old=old,
                new=new,
            )


def _compare_signatures(old: _Given, new: _Given) -> Iterator[_Difference]:
    """Yield what differs in the arguments, the header and the flags."""
    here, there = old.arguments, new.arguments
    for name in [*here, *(name for name in there if name not in here)]:
        if name in here and name in there:
            yield from _compare_arguments(name, old, new)
        else:
            values = [
                _write_shape(side[name][0]) if name in side else None for side in (here, there)
            ]
            yield "argument", name, values[0], values[1]
    donated = [_list_donated(side) for side in (old, new)]
    for name in here:
        sides = [name in names for names in donated]
        if name in there and sides[0] != sides[1]:
            texts = ["donated" if side else "not donated" for side in sides]
            yield "donation", name, texts[0], texts[1]
    headers = old.signature.header, new.signature.header
    for part in sorted(headers[0].attributes.keys() | headers[1].attributes.keys()):
        values = [header.attributes.get(part) for header in headers]
        if values[0] != values[1] and part in {"num_partitions", "replica_count"}:
            yield "sharding", part, values[0] or "1", values[1] or "1"
    if old.flags.printed is not None and new.flags.printed is not None:
        for flag in compare_flags(old.flags.printed, new.flags.printed):
            if flag.flag != _FOLLOWS:
                yield "flag", flag.flag, flag.old, flag.new


def _compare_arguments(name: str, old: _Given, new: _Given) -> Iterator[_Difference]:
    """Yield what differs of an argument that both have."""
    (one, told), (other, now) = old.arguments[name], new.arguments[name]
    leaves = [list(each.shape.leaves()) for each in (one, other)]
    dims, types = (
        [[getattr(leaf, part) for leaf in side] for side in leaves] for part in ("dims", "dtype")
    )
    if dims[0] != dims[1]:
        yield "shape", name, _write_shape(one), _write_shape(other)
    if types[0] != types[1]:
        yield "type", name, ", ".join(types[0]), ", ".join(types[1])
    raw = [
        (each.attributes.get("sharding"), each.frontend_attributes().get(_SDY))
        for each in (one, other)
    ]
    if raw[0] != raw[1]:
        specs = [_write_sharding(one, told, old), _write_sharding(other, now, new)]
        if specs[0] == specs[1]:
            specs = [_write_meshes(side) for side in (old, new)]
        yield "sharding", name, specs[0], specs[1]


def _write_shape(one: Instruction) -> str:
    return ", ".join(map(str, one.shape.leaves()))


def _write_sharding(one: Instruction, told: Told, given: _Given) -> str:
    """Write where an argument lies: by names of axes where they are known, else as printed."""
    devices = given.signature.header.num_partitions
    rank = len(next(one.shape.leaves()).dims)
    with suppress(ValueError):
        spec = find_spec(told.shardings[0], rank, devices) if told.shardings and devices else None
        if spec is not None:
            return str(spec)
    return one.attributes.get("sharding") or "none"


def _write_meshes(given: _Given) -> str:
    meshes = find_declared_meshes(given.signature).values()
    return ", ".join(write_mesh(mesh, with_devices=False) for mesh in meshes) or "another mesh"


def _list_donated(given: _Given) -> set[str]:
    """Return the arguments whose memory may be taken."""
    header = given.signature.header
    numbers = {int(each) for each in _ALIASED.findall(header.attributes.get(ENTRY_ALIASES, ""))}
    numbers |= {each.parameter for each in header.donors}
    return {name for name, (one, _) in given.arguments.items() if one.parameter_number in numbers}


def _compare_bodies(old: _Given, new: _Given, *, is_alone: bool) -> Iterator[_Difference]:
    """Yield what differs in the program where the arguments are the same.

    Without another reason (`is_alone`) another text is told, whatever differs in it.
    """
    if old.body == new.body:
        return
    bodies = [_SHARDINGS.sub("", side.body) for side in (old, new)]
    if bodies[0] == bodies[1]:
        if is_alone:
            yield "sharding", "values inside", None, None
        return
    shapes = [_CONSTANT.sub(r"\1 constant()", body) for body in bodies]
    if shapes[0] == shapes[1]:
        found = (_CONSTANT.findall(body) for body in bodies)
        for (shape, before), (_, after) in zip(*found, strict=True):
            if before != after:
                yield "constant", shape.partition("{")[0], before[:_LONGEST], after[:_LONGEST]
        return
    programs = InputPair(old.file, new.file).programs
    modules = [each.expect_module() for each in programs]
    here, there = (Counter(one.opcode for one in each.instructions()) for each in modules)
    changed = [opcode for opcode in {**here, **there} if here[opcode] != there[opcode]]
    changed.sort(key=lambda opcode: opcode in FREE)  # those that do work first
    texts = [f"{opcode} {there[opcode] - here[opcode]:+,}" for opcode in changed]
    if texts:
        yield "program", list_some(texts, _MOST_NAMED), None, None
    elif is_alone and not (are_equal(*programs) or compute_the_same(*programs)):
        yield "program", "attributes or sizes of operations", None, None


def _compare_headers(old: _Given, new: _Given) -> Iterator[_Difference]:
    """Yield the parts of the headers that differ, where nothing else does."""
    headers = [each.signature.header.attributes for each in (old, new)]
    for part in sorted(headers[0].keys() | headers[1].keys()):
        if headers[0].get(part) != headers[1].get(part):
            is_layout = part == ENTRY_LAYOUT
            yield "program", "layouts" if is_layout else f"header: {part}", None, None
