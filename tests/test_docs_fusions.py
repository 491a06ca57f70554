"""The session in docs/fusions.md is one that is played; every finding is documented."""

from __future__ import annotations

import re
from pathlib import Path

from hlotool.analysis.findings.finding import FINDINGS

ROOT = Path(__file__).resolve().parents[1]


def test_the_session_is_played() -> None:
    text = (ROOT / "docs/fusions.md").read_text(encoding="utf-8")
    played = (ROOT / "testdata/golden/fusions/chip.txt").read_text(encoding="utf-8")
    (session,) = re.findall(r"```\n(\$ .*?)```", text, re.DOTALL)
    assert played.startswith(session)


def test_every_finding_is_documented() -> None:
    text = (ROOT / "docs/findings.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `([a-z0-9-]+)`", text, re.MULTILINE)
    assert sorted(documented) == sorted(FINDINGS.field("code").values)
