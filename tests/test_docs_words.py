"""Hand-written pages stay short, and the first use of a glossary term links to the glossary.

A page of a command shows one screen; definitions have pages of their own.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dump_files import ROOT

from hlotool.commands import COMMANDS
from hlotool.commands.explain import read_glossary

MOST_WORDS, MOST_OF_A_COMMAND = 20_000, 500
GENERATED = {"fields.md", "glossary.md", "performance.md", "sentences.md"}
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name not in GENERATED),
]
NO_PROSE = re.compile(r"(?ms)^```.*?^```|<!-- made by.*?<!-- end -->")
NO_TERMS = re.compile(r"(?m)^[#|].*$|`[^`]*`|https?:[^\s)]+")
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)]*)\)")


def count_words(page: Path) -> int:
    prose = NO_PROSE.sub("", page.read_text("utf-8"))
    return sum(bool(re.search(r"\w", word)) for word in prose.split())


def test_pages_written_by_hand_are_short() -> None:
    assert sum(map(count_words, [*PAGES, ROOT / "CONTRIBUTING.md"])) <= MOST_WORDS


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {"fields"}))
def test_a_page_of_a_command_is_short_and_shows_one_screen(command: str) -> None:
    page = ROOT / "docs" / f"{command}.md"
    assert count_words(page) <= MOST_OF_A_COMMAND
    assert page.read_text("utf-8").count("\n$ hlotool ") <= 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_first_uses_of_terms_are_links(page: Path) -> None:
    text = NO_TERMS.sub("", NO_PROSE.sub("", page.read_text("utf-8")))
    missing = []
    for term in read_glossary():
        anchor = term.lower().replace(" ", "-")
        link = re.compile(rf"\[([^\]]*)\]\((?:docs/)?glossary\.md#{anchor}\)")
        marked = LINK.sub("", link.sub(r"!\1", text))
        words = re.escape(term).replace("\\ ", r"\s")
        first = re.search(rf"(?i)(?<![\w/.-])!?{words}s?(?![\w/-])", marked)
        if first and not first[0].startswith("!"):
            missing.append(term)
    assert missing == [], "make docs"
