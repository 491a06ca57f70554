"""Which terms can be explained, and what is said of each? All of it is declared elsewhere.

A term that means the same in several places has one meaning that names them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import click
from msgspec import Struct

from hlotool.analysis.cost.chips import list_chips
from hlotool.analysis.findings.finding import ADVICE, FINDING_MEANINGS
from hlotool.check.history import HistoryLine
from hlotool.commands import COMMANDS
from hlotool.commands.explaining.formats import FORMAT_MEANINGS
from hlotool.commands.explaining.legend import LEGEND
from hlotool.commands.shared.declared import documents_of, load_command
from hlotool.errors import EXIT_CODES
from hlotool.fields import Block, DocumentSpec, Field, RowList
from hlotool.fields.schema import KEY_MEANINGS, describe_line
from hlotool.ir.buffers import CLASS_MEANINGS
from hlotool.program.metrics import METRICS

_OPEN: Final = "One of the words that hlotool knows; a dump may hold others."


class Meaning(Struct, frozen=True):
    """What a term is, and where, and what is said of it, a paragraph each."""

    what: str
    says: tuple[str, ...]


class _Found(Struct, frozen=True):
    """A term in one place. What is said alike of a term becomes one meaning."""

    term: str
    kind: str  # `field`, `option`, …
    says: tuple[str, ...]
    place: str = ""  # `collectives --rows operands`


def collect_meanings() -> dict[str, tuple[Meaning, ...]]:
    """Return all meanings by the terms that have them, in lower case."""
    places: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for one in _find_all():
        places.setdefault((one.term, one.kind, one.says), []).append(one.place)
    meanings: dict[str, list[Meaning]] = {}
    for (term, kind, says), where in places.items():
        named = ", ".join(dict.fromkeys(filter(None, where)))
        what = f"{term}: {kind} of {named}" if named else f"{term}: {kind}"
        meanings.setdefault(term.lower(), []).append(Meaning(what, says))
    return {term: tuple(found) for term, found in meanings.items()}


def _find_all() -> Iterator[_Found]:
    yield from _find_words("word of tables", LEGEND)
    yield from _find_words("key of JSON", KEY_MEANINGS)
    yield from _find_words("key of a line of a history", describe_line(HistoryLine))
    for name, says in COMMANDS.items():
        yield _Found(name, "command", (says, f"hlotool {name} --help has its options."))
        yield from _find_options(name)
        for spec in documents_of(name):
            yield from _find_in_document(spec)
    yield from _find_words("exit code", {str(code): says for code, says in EXIT_CODES.items()})
    for code, says in FINDING_MEANINGS.items():
        yield _Found(code, "finding", (f"{says}.", f"Try: {ADVICE[code]}."))
    yield from _find_words("class of memory", dict(CLASS_MEANINGS.items()))
    yield from _find_words("chip", list_chips())
    for path, field in METRICS.items():
        yield _Found(path, "metric of budgets", tuple(_describe(field)))


def _find_words(kind: str, meanings: Mapping[str, str]) -> Iterator[_Found]:
    for term, says in meanings.items():
        yield _Found(term, kind, (f"{says}.",))


def _find_options(name: str) -> Iterator[_Found]:
    """Find the options of a command, under each of their names, with and without dashes."""
    command = load_command(name)
    context = click.Context(command, info_name=name)
    for one in command.params:
        if isinstance(one, click.Option):
            written = "/".join(one.opts)
            value = "" if one.is_flag else f" {one.make_metavar(context)}"
            for opt in (*one.opts, *(each.lstrip("-") for each in one.opts if each[:2] == "--")):
                yield _Found(opt, f"option {written}{value}", (one.help or "",), name)
            if isinstance(one.type, click.Choice):
                yield from _find_choices(written, one.type.choices, one.help or "", name)


def _find_choices(written: str, choices: Iterable[str], says: str, name: str) -> Iterator[_Found]:
    """Find what an option can be, and what each of the forms of an answer is for."""
    for word in choices:
        meaning = f"{FORMAT_MEANINGS[word]}." if written == "--format" else says
        yield _Found(word, f"value of option {written}", (meaning,), name)


def _find_in_document(spec: DocumentSpec) -> Iterator[_Found]:
    if spec.scalars:
        yield from _find_fields(spec.scalars.fields, spec.name)
    yield from _find_in_blocks(spec.blocks, spec.name)
    for rows in spec.row_lists:
        yield from _find_in_list(rows, f"{spec.name} --rows {rows.name}")
        added = (f"{rows.option} adds it.",) if rows.option else ()
        yield _Found(rows.name, "row list", (f"{rows.meaning}.", *added), spec.name)


def _find_in_list(rows: RowList, place: str) -> Iterator[_Found]:
    yield from _find_fields(rows.fields, place, adds_up=rows.has_total)


def _find_in_blocks(blocks: Iterable[Block], place: str) -> Iterator[_Found]:
    for block in blocks:
        inside = f"{place} {block.name}"
        yield _Found(block.name, "part", (f"{block.meaning}.",), place)
        yield from _find_fields(block.fields, inside)
        yield from _find_in_blocks(block.blocks, inside)
        for rows in block.row_lists:
            yield from _find_in_list(rows, f"{inside} {rows.name}")
            yield _Found(rows.name, "list", (f"{rows.meaning}.",), inside)


def _find_fields(fields: Iterable[Field], place: str, *, adds_up: bool = False) -> Iterator[_Found]:
    """Find fields by name and, where that is another, by heading, and the words they can be."""
    for field in fields:
        says = tuple(_describe(field, adds_up=adds_up))
        yield _Found(field.name, "field", says, place)
        if field.title != field.name.replace("_", " ") and field.title:
            yield _Found(field.title, f"heading of {field.name}, field", says, place)
        elif field.title != field.name:
            yield _Found(field.title, "field", says, place)
        yield from _find_values(field, place)


def _find_values(field: Field, place: str) -> Iterator[_Found]:
    """Find the words that a field can be, but those that are explained for themselves."""
    meanings = dict(field.word_meanings)
    for word in dict.fromkeys((*field.values, *meanings)):
        if word not in FINDING_MEANINGS and word not in CLASS_MEANINGS:
            own = (_end(meanings[word]),) if word in meanings else ()
            says = (*own, _end(f"{field.name}: {field.meaning}"))
            yield _Found(word, f"what {field.name} can be", says, place)
    for word in sorted(field.words - meanings.keys()):
        yield _Found(word, "value", (_OPEN,), f"{field.name} ({place})")


def _end(says: str) -> str:
    """End a sentence."""
    return says if says.endswith("…") else f"{says}."


def _describe(field: Field, *, adds_up: bool = False) -> Iterator[str]:
    """Say what a figure is, in which unit, and how tables and totals have it."""
    unknown = ", null where unknown" if field.is_nullable else ""
    yield f"{_end(field.meaning)} [{field.unit.value}{unknown}]"
    if field.values:
        yield f"One of {', '.join(field.values)}."
    if adds_up and field.once:
        yield f"Totals add {field.once} where it is null, and are lower bounds then."
    elif adds_up and field.is_summable:
        yield "Totals and groups add it up."
    if field.lower_if:
        yield f"A lower bound where {field.lower_if} is true."
    if field.upper_if:
        yield f"An upper bound where {field.upper_if} is true."
