"""The session in docs/collectives.md is one that is played."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_session_is_played() -> None:
    text = (ROOT / "docs/collectives.md").read_text(encoding="utf-8")
    session = text.partition("```\n")[2].partition("```")[0]
    assert session.startswith("$ hlotool collectives ")
    played = (ROOT / "testdata/golden/collectives/by.txt").read_text(encoding="utf-8")
    assert session in played
