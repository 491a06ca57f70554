"""Patterns that compile later: the same answers, and no mistake that shows only to a user."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import hlotool
from hlotool import patterns
from hlotool.patterns import compile_later

PACKAGE = Path(hlotool.__file__).parent


def test_a_pattern_compiles_at_its_first_use() -> None:
    pattern = compile_later(r"(a+)\d", re.IGNORECASE)
    found = pattern.match("xAA1", 1)
    assert found is not None
    assert found.groups() == ("AA",)
    assert pattern.sub("-", "a1 b2 a3") == "- b2 -"
    assert pattern.findall("a1a2") == ["a", "a"]
    assert pattern.flags & re.IGNORECASE
    assert compile_later(rb"\x00").search(b"a\x00") is not None


def test_every_pattern_of_the_package_compiles() -> None:
    """Patterns stand at the top of their modules, alone or in tables."""
    count = 0
    for path in PACKAGE.rglob("*.py"):
        if path.name.startswith("__"):
            continue
        name = ".".join(("hlotool", *path.relative_to(PACKAGE).with_suffix("").parts))
        for value in vars(import_module(name)).values():
            pending = [value]
            while pending:
                one = pending.pop()
                if isinstance(one, patterns._Later):  # noqa: SLF001
                    assert one.pattern
                    count += 1
                elif isinstance(one, tuple | list):
                    pending += one
                elif isinstance(one, dict):
                    pending += one.values()
    assert count > 50
