"""What was named anew stands nowhere under its old name: code, help, docs and golden sessions.

The old names are those of hlotool/data/renamed.toml. A name of one word (`class`, `left`) or of one
list (`set`) has other meanings, and is looked for where it can have only the old one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from dump_files import ROOT

from hlotool.commands.shared.command import all_documents
from hlotool.table.renamed import read_table

PLACES = (
    "hlotool/**/*.py",
    "hlotool/page/*",
    "docs/*.md",
    "docs/schema/*.json",
    "README.md",
    "CONTRIBUTING.md",
    "action.yml",
    "testdata/golden/**/*.txt",
    "testdata/**/*.cases",
    "testdata/check/*",
    "tests/*.py",
)
# Where an old word may stand, and why.
ALLOWED = {
    "hlotool/table/renamed.py": "it tells of old names",
    "tests/test_old_words.py": "it looks for them",
    "tests/test_saved_before.py": "it reads them",
    "tests/test_explain.py": "it asks for them",
    "testdata/golden/explain/renamed.txt": "it asks for them",
    "testdata/golden/hlotool/typed.txt": "it types them",
    "docs/explain.md": "it asks for one",
    "docs/protos.md": "payload is XLA's word for a part of a proto",
}
XLA = ("hlotool/proto/", "tests/test_protos", "tests/same_names.py", "testdata/protos/")
# Old names that are no names of keys any more, but words of which others are made.
NAMES = [name for name in read_table().names if "_" in name]
ALONE = sorted(read_table().terms)


@cache
def texts() -> dict[str, str]:
    """Return the texts that are looked at, by their paths."""
    paths = [path for place in PLACES for path in sorted(ROOT.glob(place)) if path.is_file()]
    named = {path.relative_to(ROOT).as_posix(): path for path in paths}
    return {
        name: path.read_text(encoding="utf-8", errors="replace")
        for name, path in named.items()
        if name not in ALLOWED
    }


def find(word: str, *, skipped: tuple[str, ...] = ()) -> Iterator[str]:
    pattern = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(word)}s?(?![A-Za-z0-9_])", re.IGNORECASE)
    for name, text in texts().items():
        if not name.startswith(skipped) or not skipped:
            for found in pattern.finditer(text):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{name}:{line}: {text[found.start() - 30 : found.end() + 20]!r}"


def test_there_are_texts() -> None:
    assert len(texts()) > 500
    assert len(NAMES) > 100


def test_allowed_places_are_there() -> None:
    for place in ALLOWED:
        assert (ROOT / place).exists(), place


def test_no_old_name_of_several_words() -> None:
    whole = re.compile("|".join(sorted(map(re.escape, NAMES), key=len, reverse=True)))
    suspects = [name for name, text in texts().items() if whole.search(text)]
    found = [
        f"{name}: {match[0]}"
        for name in suspects
        for match in re.finditer(rf"(?<!\w)(?:{whole.pattern})(?!\w)", texts()[name])
    ]
    assert found == []


@pytest.mark.parametrize("word", ALONE)
def test_no_old_term(word: str) -> None:
    assert list(find(word, skipped=XLA)) == []


def test_no_document_has_an_old_name() -> None:
    old = {*read_table().names}
    for spec in all_documents():
        for path, each in spec.walk():
            names = {*path.split("."), *(field.name for field in each.fields)}
            assert not names & old, f"{spec.name} {path}"


def test_no_field_can_be_an_old_word() -> None:
    words = read_table().words
    for spec in all_documents():
        for path, each in spec.walk():
            for field in each.fields:
                old = set(words.get(field.name, ()))
                assert not old & {*field.values, *field.words}, f"{spec.name} {path} {field.name}"
