"""Every word that a command prints can be explained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pytest

from hlotool.analysis.findings.finding import FINDING_MEANINGS
from hlotool.analysis.fusions.rows import FLAG_MEANINGS, FLAGS
from hlotool.cli import run
from hlotool.commands import COMMANDS, load_command
from hlotool.commands.explain import collect_meanings, find_meanings, read_glossary
from hlotool.commands.schema import all_schemas
from hlotool.commands.shared.command import all_documents
from hlotool.compare.causes.cause import KINDS, MEASURE_MEANINGS
from hlotool.compare.changes.reasons import REASON_MEANINGS
from hlotool.errors import EXIT_CODES
from hlotool.hlo.buffers import ALLOCATION_TYPES
from hlotool.table import Block, Field

MEANINGS = collect_meanings()
DOCS = Path(__file__).resolve().parents[1] / "docs"


def _fields_of(blocks: Iterable[Block]) -> Iterator[Field]:
    for block in blocks:
        yield from block.fields
        yield from _fields_of(block.blocks)
        for rows in block.row_lists:
            yield from rows.fields


def _all_fields() -> Iterator[Field]:
    for spec in all_documents():
        yield from spec.scalars.fields if spec.scalars else ()
        yield from _fields_of(spec.blocks)
        for rows in spec.row_lists:
            yield from rows.fields


def _keys(schema: object) -> Iterator[str]:
    """Yield every key that a JSON Schema allows, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for inner in schema.values():
            yield from _keys(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _keys(inner)


def _missing(terms: Iterable[str]) -> list[str]:
    return sorted({term for term in terms if not find_meanings(term, MEANINGS)})


def test_fields_and_headings() -> None:
    assert not _missing(each.name for each in _all_fields())
    assert not _missing(each.title for each in _all_fields() if each.title)


def test_what_fields_can_be() -> None:
    assert not _missing(word for each in _all_fields() for word in each.values)
    assert not _missing(word for each in _all_fields() for word in each.words)
    assert not _missing(word for each in _all_fields() for word, _ in each.word_meanings)


def test_words_with_meanings_are_those_of_their_field() -> None:
    for each in _all_fields():
        if each.values and each.word_meanings:
            assert sorted(word for word, _ in each.word_meanings) == sorted(each.values), each.name


def test_keys_of_json() -> None:
    keys = {key for schema in all_schemas().values() for key in _keys(schema)}
    assert "message_bytes" in keys
    assert not _missing(keys)


def test_findings_classes_and_exit_codes() -> None:
    assert not _missing((*FINDING_MEANINGS, *ALLOCATION_TYPES))
    assert not _missing(map(str, EXIT_CODES))
    assert not _missing(f"exit code {code}" for code in EXIT_CODES)


def test_reasons_of_a_diff() -> None:
    assert not _missing((*KINDS, *MEASURE_MEANINGS, *REASON_MEANINGS))
    for word, kind in KINDS.items():
        assert any(f"{kind.meaning}." in one.says for one in MEANINGS[word])


def test_flags_of_fusions() -> None:
    assert tuple(FLAG_MEANINGS) == FLAGS


@pytest.mark.parametrize("name", COMMANDS)
def test_options_and_their_values(name: str) -> None:
    options = [one for one in load_command(name).params if isinstance(one, click.Option)]
    assert not _missing([name, *(opt for one in options for opt in one.opts)])
    assert not _missing(
        str(word)
        for one in options
        if isinstance(one.type, click.Choice)
        for word in one.type.choices
    )


def test_lists_and_parts() -> None:
    for spec in all_documents():
        assert not _missing(rows.name for rows in spec.row_lists)
        assert not _missing(block.name for block in spec.blocks)


@pytest.mark.parametrize("term", ["TOTAL", "share", "?", "≥", "≤", "~", "*", "×", "(none)"])
def test_words_and_marks_of_tables(term: str) -> None:
    assert find_meanings(term, MEANINGS)


def test_a_term_can_be_spelled_as_it_is_said() -> None:
    assert find_meanings("peak bytes", MEANINGS) == MEANINGS["peak_bytes"]
    assert find_meanings("Exposed Collective", MEANINGS) == MEANINGS["exposed-collective"]
    assert not find_meanings("no such thing", MEANINGS)


@pytest.mark.parametrize(
    "term",
    ["kLoop", "kInput", "kOutput", "kCustom", "most exposed", "8@1", "work", "moves"],
)
def test_words_of_screens_say_what_they_are(term: str) -> None:
    found = find_meanings(term, MEANINGS)
    assert found
    assert not any(
        "One of the words that hlotool knows" in said for one in found for said in one.says
    )


@pytest.mark.parametrize(
    "term", ["flops meanwhile", "bytes meanwhile", "exposed/step", "worst", "place"]
)
def test_meanings_stand_alone(term: str) -> None:
    said = " ".join(said for one in find_meanings(term, MEANINGS) for said in one.says)
    assert not re.search(r"\b(these|they|them|their flops|the same in short)\b", said)


@pytest.mark.parametrize("term", ["transfer/step", "hidden time", "exposed time"])
def test_times_are_known_with_a_bandwidth_too(term: str) -> None:
    for one in find_meanings(term, MEANINGS):
        assert "--bandwidth" in one.says[0]


def test_the_glossary(capsys: pytest.CaptureFixture[str]) -> None:
    glossary = read_glossary()
    assert len(glossary) == 40
    assert list(glossary) == sorted(glossary, key=str.lower)
    for term, says in glossary.items():
        assert len(re.findall(r"\.(?: |$)", says)) == 2, term
    assert run(["explain"]) == 0
    told = capsys.readouterr().out
    assert re.findall(r"^\S.*$", told, re.MULTILINE) == list(glossary)
    assert not _missing(glossary)
