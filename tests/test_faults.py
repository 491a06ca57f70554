"""The faults that `make faults` puts in: each has one place, and leaves Python that compiles."""

from __future__ import annotations

from dump_files import ROOT
from faults import FAULTS

SOURCES = {
    path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "hlotool").rglob("*.py"))
}


def test_each_has_one_place() -> None:
    assert len(FAULTS) == 40
    for fault in FAULTS:
        found = [(path, one) for path, text in SOURCES.items() for one in fault.places(text)]
        assert len(found) == 1, fault
        (path, place), text = found[0], SOURCES[found[0][0]]
        compile(f"{text[: place.start()]}{fault.wrong}{text[place.end() :]}", str(path), "exec")
