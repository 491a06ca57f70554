"""Check the prose of docs/sentences.md and of pages against the rules of testdata/prose.toml.

`make prose` runs it; arguments are other files. A rule has a pattern, why it is bad, what is
better, and a sentence that it must catch. Beside the rules, a sentence has at most 20 words.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
RULES = ROOT / "testdata" / "prose.toml"
SENTENCES = ROOT / "docs" / "sentences.md"
MOST_WORDS = 20
# Code and tables are no prose; docs/sentences.md is in blocks because it is not markdown.
_NO_PROSE = re.compile(r"(?ms)^```.*?^```|<!-- made by.*?<!-- end -->|^[#|].*?$|^\[.*?\]:.*?$")
_CODE = re.compile(r"`[^`\n]*`|\{[^}]*\}|\]\([^)]*\)")
_END = re.compile(r"(?<=[.?!;:])\s+")


class Rule(NamedTuple):
    """What prose does not say."""

    pattern: str
    why: str
    better: str
    catches: str


class Fault(NamedTuple):
    """A place where prose says it."""

    path: Path
    line: int
    found: str
    advice: str


@cache
def read_rules() -> list[Rule]:
    """Return the table of rules."""
    table = tomllib.loads(RULES.read_text(encoding="utf-8"))
    return [Rule(**each) for each in table["rule"]]


@cache
def _compiled() -> list[tuple[re.Pattern[str], Rule]]:
    return [(re.compile(rule.pattern, re.IGNORECASE), rule) for rule in read_rules()]


def check_text(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a paragraph, and what is better."""
    prose = _CODE.sub("x", text)
    for pattern, rule in _compiled():
        if found := pattern.search(prose):
            yield found[0], f"{rule.why}; better: {rule.better}"
    for sentence in _END.split(prose):
        count = sum(bool(re.search(r"\w", word)) for word in sentence.split())
        if count > MOST_WORDS:
            yield f"{sentence[:60]}…", f"{count} words; at most {MOST_WORDS}"


def paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a page with their lines; of docs/sentences.md, each sentence."""
    text = path.read_text(encoding="utf-8")
    if path == SENTENCES:
        for line, sentence in enumerate(text.splitlines(), 1):
            if not sentence.startswith(("#", "```")):
                yield line, sentence
        return
    prose = _NO_PROSE.sub(lambda match: "\n" * match[0].count("\n"), text)
    for block in re.finditer(r"(?:^(?!\s*$).*\n?)+", prose, re.MULTILINE):
        yield prose.count("\n", 0, block.start()) + 1, " ".join(block[0].split())


def find_faults(path: Path) -> Iterator[Fault]:
    """Yield what is wrong with a file."""
    for line, text in paragraphs(path):
        for found, advice in check_text(text):
            yield Fault(path, line, found, advice)


def main() -> None:
    """Print the faults of the files given, or of docs/sentences.md."""
    paths = [Path(name).resolve() for name in sys.argv[1:]] or [SENTENCES]
    faults = [fault for path in paths for fault in find_faults(path)]
    for fault in faults:
        name = fault.path.relative_to(ROOT)
        print(f"{name}:{fault.line}: {fault.found!r}: {fault.advice}")  # noqa: T201
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
