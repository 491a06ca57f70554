"""The evaluation set: seventy questions that people asked, put to dumps that have the problem.

    python tests/questions.py [--write] [NUMBER ...]

A question of testdata/questions has one command, the key of its answer, written down from the
source of the program before the command was ever run, and a twin without the problem. Answered
means: each string of the key stands in the first 24 rows at 80 columns, and the same command says
none of `not_in_twin` of the twin. `|` parts alternatives; case and line breaks do not count.
`--write` keeps the verdicts in testdata/questions/verdicts.txt, which a hard test reads.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct, convert

from hlotool.cli import run

QUESTIONS: Final = Path(__file__).parents[1] / "testdata" / "questions"
VERDICTS: Final = QUESTIONS / "verdicts.txt"
ROWS: Final = 24
COLUMNS: Final = "80"

Verdict: TypeAlias = Literal["answered", "wrong", "not answered", "no dump"]


class Question(Struct, frozen=True):
    """One question.toml; `none` says why no dump can answer it."""

    number: int
    question: str
    address: str
    folder: Path
    command: str = ""
    key: tuple[str, ...] = ()
    not_in_twin: tuple[str, ...] = ()
    none: str = ""


class Asked(Struct, frozen=True):
    """What became of a question; `missing` are the strings that decided it."""

    question: Question
    verdict: Verdict
    missing: tuple[str, ...] = ()


def read_questions() -> list[Question]:
    """Read all questions in the order of their numbers."""
    found = []
    for path in QUESTIONS.glob("*/question.toml"):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        found.append(convert({**document, "folder": str(path.parent)}, Question, dec_hook=_to_path))
    return sorted(found, key=lambda one: one.number)


def _to_path(_: type, value: object) -> object:
    return Path(str(value))


def ask(question: Question) -> Asked:
    """Run the command on the problem and on its twin, and hold both against the key."""
    if question.none:
        return Asked(question, "no dump")
    told = read_screen(question, "problem")
    missing = tuple(one for one in question.key if not _stands_in(one, told))
    if missing:
        return Asked(question, "not answered", missing)
    twin = read_screen(question, "twin")
    said = tuple(one for one in question.not_in_twin if _stands_in(one, twin))
    return Asked(question, "wrong" if said else "answered", said)


class _Terminal(io.StringIO):
    """A stdout that is a terminal."""

    def isatty(self) -> bool:
        return True


def read_screen(question: Question, which: str) -> str:
    """Return the first rows that a terminal of 80 columns shows, errors first."""
    dump = question.folder / which
    words = [
        word.replace("{dump}", str(dump)) if "{dump}" in word else word
        for word in shlex.split(question.command)
    ]
    out, said = _Terminal(), io.StringIO()
    os.environ.update(COLUMNS=COLUMNS, NO_COLOR="1", HLOTOOL_PAGER="cat")
    with redirect_stdout(out), redirect_stderr(said):
        run(words)
    text = (said.getvalue() + out.getvalue()).replace(str(question.folder), "")
    return "\n".join(_wrap(text.splitlines()))


def _wrap(lines: Iterable[str]) -> Iterator[str]:
    """Yield the rows of the screen: a line that is too long takes several."""
    width = int(COLUMNS)
    rows = [line[at : at + width] for line in lines for at in range(0, max(len(line), 1), width)]
    yield from rows[:ROWS]


def _stands_in(wanted: str, text: str) -> bool:
    """Whether one of the alternatives is there; a sentence may be broken between words."""
    flat = " ".join(text.split()).lower()
    return any(" ".join(each.split()).lower() in flat for each in wanted.split("|"))


def write_verdict(asked: Asked) -> str:
    """Write a question's verdict as it is kept."""
    short = re.sub(r"\s+", " ", asked.question.question)
    return f"{asked.question.number:3} {asked.verdict:12} {short}"


def main(words: list[str]) -> None:
    """Ask the questions, print a line for each, and the counts."""
    wanted = {int(each) for each in words if each != "--write"}
    counts: Counter[str] = Counter()
    lines = []
    for question in read_questions():
        if wanted and question.number not in wanted:
            continue
        asked = ask(question)
        counts[asked.verdict] += 1
        lines.append(write_verdict(asked))
        why = f": {'; '.join(asked.missing)}" if asked.missing else ""
        sys.stdout.write(f"{lines[-1]}{why}\n")
    sys.stdout.write(", ".join(f"{verdict} {count}" for verdict, count in counts.most_common()))
    sys.stdout.write("\n")
    if "--write" in words:
        VERDICTS.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
