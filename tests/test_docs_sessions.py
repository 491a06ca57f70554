"""The documentation is true: its sessions are run again, links and mentions lead somewhere.

A block that begins with `$ hlotool` is a session; `make golden` rewrites what it prints, so
that a new one needs the command alone.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from typed_commands import run, run_anew

from hlotool.commands import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?ms)^```\n\$ (hlotool [^\n]*)\n(.*?)^```$")
LINK = re.compile(r"\]\(([\w./-]+)(?:#[\w-]*)?\)")
ANCHOR = re.compile(r"\]\(([\w./-]*\.md|)#([\w-]+)\)")
MENTION = re.compile(r"docs/[\w-]+\.(?:md|csv)")
FOLDERS = ("docs", "hlotool", "testdata", "tests")
SESSIONS = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.name)
def test_sessions(page: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text(encoding="utf-8")
    rerun = run_anew if page.name == "README.md" else run  # what a user tries first, as he does
    actual = BLOCK.sub(lambda match: f"```\n{rerun(match[1])}```", text)
    assert not re.search(r"\[exit (2|70)\]", actual), "a mistake is no session"
    if request.config.getoption("--update-golden"):
        page.write_text(actual, encoding="utf-8")
        return
    assert actual == text, "make golden, and look at the diff"


def test_readme_shows_sessions() -> None:
    assert ROOT / "README.md" in SESSIONS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_headings(page: Path) -> None:
    links = ANCHOR.findall(page.read_text(encoding="utf-8"))
    assert [
        f"{name}#{anchor}"
        for name, anchor in links
        if anchor not in anchors(page.parent / name if name else page)
    ] == []


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives a page's headings."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    headings = re.findall(r"(?m)^#+ (.*)$", text)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def test_pages_that_code_mentions_exist() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found = {each for path in files for each in MENTION.findall(path.read_text(encoding="utf-8"))}
    assert len(found) > len(COMMANDS)
    assert [each for each in sorted(found) if not (ROOT / each).exists()] == []


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    links = set(LINK.findall(index.read_text(encoding="utf-8")))
    pages = {path.name for path in index.parent.glob("*.md")} - {index.name}
    assert pages - links == set()


def test_every_command_is_documented() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"`hlotool {command}`" in readme for command in COMMANDS)
    pages = [(ROOT / "docs" / f"{command}.md").read_text(encoding="utf-8") for command in COMMANDS]
    titles = [page.partition("\n")[0] for page in pages]
    assert titles == [f"# hlotool {command}" for command in COMMANDS]
