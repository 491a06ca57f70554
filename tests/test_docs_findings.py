"""Every finding is documented."""

from __future__ import annotations

import re
from pathlib import Path

from hlotool.analysis.findings.finding import FINDINGS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "summary.md"


def test_every_finding_is_documented() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Findings\n")[2].partition("\n## ")[0]
    documented = re.findall(r"^\* `([a-z0-9-]+)`: ", section, re.MULTILINE)
    assert sorted(documented) == sorted(FINDINGS.field("id").values)
