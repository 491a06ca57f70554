"""Tables of testdata: many small cases in one file, each text with what is expected of it.

    What the cases of this table are about.

    === NAME
    HloModule …
    // xla: 128, 0, 64

    === NAME
    HloModule …
    --- PART
    …

A case begins with its heading and ends before the blank line in front of the next one. What is
expected stands in comments of the text, or in parts behind it. A case without a text is the file
NAME.txt beside the table, and a text beside a table that has no such heading is a case, too: those
are what sessions show, links, and bytes that no editor keeps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

ENDING = ".cases"
_CASE = re.compile(r"^=== (\S+)\n", re.MULTILINE)
_PART = re.compile(r"^--- (\S.*)\n", re.MULTILINE)


@dataclass(frozen=True)
class TableCase:
    """One case: `path` is its file, or TABLE/NAME where a table holds the text."""

    name: str
    path: Path
    text: str
    parts: Mapping[str, str]


@cache
def read_table(table: Path) -> dict[str, TableCase]:
    """Read the cases of one table by their names."""
    _, *found = _CASE.split(_read(table))
    pairs = list(zip(found[::2], found[1::2], strict=True))
    cases = {}
    for number, (name, whole) in enumerate(pairs, start=1):
        body = whole if number == len(pairs) else whole.removesuffix("\n")
        text, *rest = _PART.split(body)
        parts = dict(zip(rest[::2], rest[1::2], strict=True))
        beside = table.with_name(f"{name}.txt")
        is_beside = not text and beside.exists()
        path = beside if is_beside else table / name
        assert name not in cases, f"{table}: {name} is there twice"
        cases[name] = TableCase(name, path, _read(beside) if is_beside else text, parts)
    return cases


def find_cases(*places: Path) -> list[TableCase]:
    """Find the cases of tables, and of folders: what their tables and texts hold, by name."""
    cases: dict[str, TableCase] = {}
    for place in places:
        tables = [place] if place.suffix == ENDING else sorted(place.glob(f"*{ENDING}"))
        found = [case for table in tables for case in read_table(table).values()]
        if place not in tables:
            known = {case.path for case in found}
            alone = [path for path in sorted(place.glob("*.txt")) if path not in known]
            found += [TableCase(path.stem, path, _read(path), {}) for path in alone]
        for case in found:
            assert case.name not in cases, f"{place}: {case.name} is there twice"
            cases[case.name] = case
    assert cases, f"no cases in {places}"
    return [cases[name] for name in sorted(cases)]


def is_case(path: Path) -> bool:
    """Whether a path is TABLE/NAME."""
    return path.parent.suffix == ENDING


def read_case(path: Path) -> TableCase:
    """Read the case that a path TABLE/NAME stands for."""
    return read_table(path.parent)[path.name]


def rewrite(case: TableCase, text: str | None = None, **parts: str) -> None:
    """Replace the text or parts of a case where they stand, for --update-golden."""
    changed = replace(case, text=case.text if text is None else text, parts={**case.parts, **parts})
    if not is_case(case.path):
        case.path.write_text(changed.text, encoding="utf-8", newline="")
    for table in {case.path.parent, *case.path.parent.glob(f"*{ENDING}")}:
        if table.suffix == ENDING and case.name in read_table(table):
            cases = {**read_table(table), case.name: changed}
            table.write_text(_format(_CASE.split(_read(table))[0], cases), "utf-8", newline="")
    read_table.cache_clear()


def format_json(document: Mapping[str, object]) -> str:
    """Write a document with a line for each key, and for each member of a list."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            members = ",\n".join(f"  {json.dumps(one, ensure_ascii=False)}" for one in value)
            lines.append(f'"{key}": [\n{members}\n ]')
        else:
            lines.append(f'"{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _format(introduction: str, cases: Mapping[str, TableCase]) -> str:
    """Write a table as it is read."""
    return introduction + "\n".join(
        f"=== {case.name}\n"
        + (case.text if is_case(case.path) else "")
        + "".join(f"--- {name}\n{part}" for name, part in case.parts.items())
        for case in cases.values()
    )


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")  # as it is: one has carriage returns


def hold_answer(case: TableCase, made: Mapping[str, Any], *, is_update: bool) -> None:
    """Hold what is no null in an answer and its rows against the part `answer`, or rewrite that."""
    known = _drop_nulls(made) | {"rows": [_drop_nulls(row) for row in made["rows"]]}
    if is_update:
        rewrite(case, answer=format_json(known))
    assert known == json.loads(case.parts["answer"])


def _drop_nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None}
