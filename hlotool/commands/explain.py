"""`hlotool explain`: what a number, a column, a word, an exit code, a mark or an option means.

Without a term it prints the glossary (`hlotool/data/glossary.toml`). Nothing is declared here but
what no field, option or list says of itself: the forms of answers, and the marks of tables. All
else is collected from where it is declared; a term that means the same in several places has one
meaning that names them all.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

import hlotool
from hlotool.analysis.cost.chips import list_chips
from hlotool.analysis.findings.finding import ADVICE, FINDING_MEANINGS
from hlotool.check.history import HistoryLine
from hlotool.commands import COMMANDS, load_command
from hlotool.commands.shared.command import HelpfulCommand, documents_of
from hlotool.commands.shared.many import PROGRAMS
from hlotool.commands.shared.options import completing
from hlotool.commands.shared.output import find_width, write_text
from hlotool.errors import EXIT_CODES, ErrorAnswer, UsageError
from hlotool.hlo.buffers import ALLOCATION_TYPES
from hlotool.program.metrics import METRICS
from hlotool.table import DocumentSpec, Field, RowList
from hlotool.table.cells import COUNT_SHARE_TITLE, COUNT_TITLE, NO_LABEL, SHARE_TITLE, TOTAL
from hlotool.table.renamed import find_new, list_renamed, say_renamed
from hlotool.table.schema import KEY_MEANINGS, describe_line
from hlotool.table.select import COUNT, SHARE
from hlotool.table.units import UNKNOWN, wrap
from hlotool.table.words import ANY, join_words, suggest

_GRAPH: Final = "operands and users as a graph"
_CI: Final = "budgets for a CI system"

FORMAT_MEANINGS: Final[Mapping[str, str]] = {
    "table": "tables and sentences for a terminal",
    "json": "the whole answer with exact figures; `hlotool schema COMMAND` prints its JSON Schema",
    "jsonl": "the rows of one list as JSON, one per line",
    "csv": "the rows of one list with commas between",
    "tsv": "the rows of one list with tabs between",
    "parquet": "the rows of one list for DuckDB, pandas or Spark",
    "markdown": "tables and sentences for a pull request or an issue",
    "comment": "a short comment on a pull request, marked so that a bot can update it",
    "folded": "the rows of one list by scope, for a flame graph: flamegraph.pl, speedscope.app",
    "pprof": "the rows of one list by scope, for `go tool pprof`, which draws flame graphs too",
    "perfetto": "the modelled clock as a trace for ui.perfetto.dev",
    "model-explorer": "the program as a graph by scope, for Model Explorer",
    "dot": f"{_GRAPH}, for Graphviz",
    "mermaid": f"{_GRAPH}, for GitHub's markdown",
    "github": f"{_CI}: annotations of GitHub Actions",
    "junit": f"{_CI}: JUnit's XML",
    "sarif": f"{_CI}: SARIF, for code scanning",
}

LEGEND: Final[Mapping[str, str]] = {
    TOTAL: "the sum of a column over all rows that --where keeps, also those that -n hides",
    COUNT_TITLE: f"with --by: {COUNT.meaning}",
    SHARE_TITLE: f"with --by: {SHARE.meaning}; of the first figure of --sort, else of --columns, "
    "else of the list's size column; without any, of the number of rows",
    COUNT_SHARE_TITLE: "with --by: the group's part of the number of rows, because their figures "
    "do not add up",
    NO_LABEL: "the group of rows that have no value in the field of --by",
    UNKNOWN: "unknown; null in JSON",
    "≥": "at least: a part of the sum is unknown; is_lower_bound in JSON",
    "≤": "at most: a part of the sum might not run; is_upper_bound in JSON",
    "about": "neither at least nor at most: a part is unknown, and another might not run",
    "~": "an estimate",
    ANY: "in a path: the part in which the things of a row differ",
    "different": "in a row for several things: their values differ, and are not numbers",
    "×": "number of equal things in the row",
    "–": "between two numbers: least and most of the things in a row; alone: none",
    "…": "something is omitted or cut here; -w and JSON show it",
    "most exposed": "the collective with the most exposed bytes or time; see exposed",
    "work": "computation during a collective, which hides the time of the transfer",
    "moves": "bytes read from and written to memory, without bytes sent to other devices",
    "8@1": "numbering of a group's devices: 8 devices with numbers 1 apart",
    "layer_*": "in a path: numbered siblings as one; --numbered keeps them apart",
}


_GLOSSARY: Final = Path(hlotool.__file__).parent / "data" / "glossary.toml"


def read_glossary() -> dict[str, str]:
    """Return the concepts that the words of hlotool stand for, each with its sentences."""
    return tomllib.loads(_GLOSSARY.read_text(encoding="utf-8"))


_OPEN: Final = "One of the words that hlotool knows; dumps may have others."


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
    for one in _list_all():
        places.setdefault((one.term, one.kind, one.says), []).append(one.place)
    meanings: dict[str, list[Meaning]] = {}
    for (term, kind, says), where in places.items():
        named = ", ".join(dict.fromkeys(filter(None, where)))
        what = f"{term}: {kind} of {named}" if named else f"{term}: {kind}"
        meanings.setdefault(term.lower(), []).append(Meaning(what, says))
    return {term: tuple(found) for term, found in meanings.items()}


def _list_all() -> Iterator[_Found]:
    yield from (_Found(term, "concept", (says,)) for term, says in read_glossary().items())
    yield from _list_words("word of tables", LEGEND)
    yield from _list_words("key of JSON", KEY_MEANINGS)
    yield from _list_words("key of a line of a history", describe_line(HistoryLine))
    yield from _list_words("key of an error", describe_line(ErrorAnswer))
    for name, says in COMMANDS.items():
        yield _Found(name, "command", (says, f"hlotool {name} --help has its options."))
        yield from _list_options(name)
        for spec in documents_of(name):
            yield from _list_in_document(spec)
    yield from _list_in_document(PROGRAMS)
    yield from _list_words("exit code", {str(code): says for code, says in EXIT_CODES.items()})
    for code, says in FINDING_MEANINGS.items():
        advice = (f"Try: {ADVICE[code]}.",) if ADVICE[code] else ()
        yield _Found(code, "finding", (f"{says}.", *advice))
    yield from _list_words("allocation type", dict(ALLOCATION_TYPES.items()))
    yield from _list_words("chip", list_chips())
    for path, field in METRICS.items():
        yield _Found(path, "metric of budgets", tuple(_describe(field)))


def _list_words(kind: str, meanings: Mapping[str, str]) -> Iterator[_Found]:
    yield from (_Found(term, kind, (f"{says}.",)) for term, says in meanings.items())


def _list_options(name: str) -> Iterator[_Found]:
    """Yield the options of a command, under each of their names, with and without dashes.

    Then what an option can be, and what each of the forms of an answer is for.
    """
    command = load_command(name)
    context = click.Context(command, info_name=name)
    for one in command.params:
        if isinstance(one, click.Option):
            written = "/".join(one.opts)
            value = "" if one.is_flag else f" {one.make_metavar(context)}"
            for opt in (*one.opts, *(each.lstrip("-") for each in one.opts if each[:2] == "--")):
                yield _Found(opt, f"option {written}{value}", (one.help or "",), name)
            for word in one.type.choices if isinstance(one.type, click.Choice) else ():
                is_form = written == "--format"
                says = f"{FORMAT_MEANINGS[word]}." if is_form else one.help or ""
                yield _Found(word, f"value of option {written}", (says,), name)


def _list_in_document(spec: DocumentSpec) -> Iterator[_Found]:
    """Yield the fields, parts and lists of a document."""
    for path, holder in spec.walk():
        place = f"{spec.name} {path.replace('.', ' ')}".rstrip()
        outer = place.rpartition(" ")[0]
        if isinstance(holder, RowList):
            kind, says = "list", [f"{holder.meaning}."]
            if "." not in path:
                kind, place = "row list", f"{spec.name} --rows {path}"
                says += [f"{holder.option} adds it."] if holder.option else []
            yield from _list_fields(holder.fields, place, adds_up=holder.has_total)
            yield _Found(holder.name, kind, tuple(says), outer)
        else:
            if path:
                yield _Found(holder.name, "part", (f"{holder.meaning}.",), outer)
            yield from _list_fields(holder.fields, place)


def _list_fields(fields: Iterable[Field], place: str, *, adds_up: bool = False) -> Iterator[_Found]:
    """Yield fields by name and, where that is another, by heading, and the words they can be."""
    for field in fields:
        says = tuple(_describe(field, adds_up=adds_up))
        yield _Found(field.name, "field", says, place)
        if field.title != field.name.replace("_", " ") and field.title:
            yield _Found(field.title, f"heading of {field.name}, field", says, place)
        elif field.title != field.name:
            yield _Found(field.title, "field", says, place)
        yield from _list_values(field, place)


def _list_values(field: Field, place: str) -> Iterator[_Found]:
    """Yield the words that a field can be, but those that are explained for themselves."""
    meanings = dict(field.word_meanings)
    for word in dict.fromkeys((*field.values, *meanings)):
        if word not in FINDING_MEANINGS and word not in ALLOCATION_TYPES:
            own = (_end(meanings[word]),) if word in meanings else ()
            says = (*own, _end(f"{field.name}: {field.meaning}"))
            yield _Found(word, f"values of {field.name}", says, place)
    for word in sorted(field.words - meanings.keys()):
        yield _Found(word, "value", (_OPEN,), f"{field.name} ({place})")


def _end(says: str) -> str:
    """End a sentence."""
    return says if says.endswith("…") else f"{says}."


def _describe(field: Field, *, adds_up: bool = False) -> Iterator[str]:
    """Say what a figure is, in which unit, and how tables and totals have it."""
    unknown = ", null if unknown" if field.is_nullable else ""
    yield f"{_end(field.meaning)} [{field.unit.value}{unknown}]"
    if field.values:
        yield f"One of {', '.join(field.values)}."
    if adds_up and field.total_from:
        yield f"Totals add {field.total_from} if it is null, and are lower bounds then."
    elif adds_up and field.is_summable and not field.joint:
        yield "Totals and groups add it up."
    if field.lower_if:
        yield f"A lower bound where {field.lower_if} is true."
    if field.upper_if:
        yield f"An upper bound where {field.upper_if} is true."


_EXAMPLES = (
    "hlotool explain sent_bytes",
    "hlotool explain exposed-collective",
    "hlotool explain --threshold",
)
# What people call something for short, or a part of what is called so.
_SHORT: Final = {
    "oom": "out-of-memory",
    "remat": "rematerialization",
    "reshard": "involuntary-reshard",
}
_WIDTH = 80  # at most
_INDENT = "    "
_MOST_MENTIONS: Final = 4


def _list_terms(_: click.Context) -> Iterator[tuple[str, str]]:
    yield from ((term, found[0].what) for term, found in collect_meanings().items())


@click.command(
    "explain",
    cls=HelpfulCommand,
    examples=_EXAMPLES,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("term", metavar="[TERM]", nargs=-1, shell_complete=completing(_list_terms))
def explain(term: Sequence[str]) -> None:
    """Explain TERM in each command that has it.

    Without TERM, print the glossary. TERM is a concept, a field, a heading, a metric, a row
    list, an option or its value. It can also be a finding, a reason of a diff, an allocation
    type, an exit code or a chip. Marks such as ≥ and other words of fields work too.
    """
    width = min(_WIDTH, find_width() or _WIDTH)
    if not term:
        concepts = (Meaning(name, (says,)) for name, says in read_glossary().items())
        write_text((line for each in concepts for line in _write(each, width)), "")
        return
    asked = " ".join(term)
    meanings = collect_meanings()
    found = find_meanings(_SHORT.get(asked.lower(), ""), meanings)
    found += find_meanings(asked, meanings)
    if not found:
        renamed = _find_renamed(normalize(asked).replace(" ", "_"), meanings)
        if renamed is None:
            raise UsageError(f"nothing is called {asked!r}; {_hint(normalize(asked), meanings)}")
        found = find_meanings(renamed, meanings)
        write_text((f"{say_renamed(asked, renamed)}.\n",), "")
    write_text((line for meaning in found for line in _write(meaning, width)), "")


def _find_renamed(old: str, meanings: Container[str]) -> str | None:
    """Find what an old name, or an old word that a field could be, is called now."""
    words = (
        new for each, new, _ in list_renamed() if each.replace(" ", "_") == old and new in meanings
    )
    return find_new(old, meanings) or next(words, None)


def find_meanings(asked: str, meanings: Mapping[str, tuple[Meaning, ...]]) -> tuple[Meaning, ...]:
    """Return what a term means; its words may be joined as in names. () if nothing is called so."""
    term = normalize(asked)
    spelled = (term, term.replace(" ", "_"), term.replace(" ", "-"))
    return next((meanings[one] for one in spelled if one in meanings), ())


def normalize(term: str) -> str:
    """Write a term as it is looked up: `exit code 3` is `3`."""
    return " ".join(term.lower().removeprefix("exit code").split())


def _hint(term: str, meanings: Mapping[str, tuple[Meaning, ...]]) -> str:
    """Name what speaks of a word, else what is spelled like it."""
    word = re.compile(rf"\b{re.escape(term)}s?\b", re.IGNORECASE)
    speaks = (
        name
        for name, found in meanings.items()
        if any(word.search(text) for one in found for text in one.says)
    )
    if named := [name for name, _ in zip(speaks, range(_MOST_MENTIONS), strict=False)]:
        return f"try explain {join_words(named, 'or')}."
    return suggest(term, meanings)


def _write(meaning: Meaning, width: int) -> Iterator[str]:
    """Write one meaning: what it is and where, then the text below it."""
    yield f"{wrap(meaning.what, width, '  ')}\n"
    for paragraph in meaning.says:
        yield f"{wrap(_INDENT + paragraph, width)}\n"
