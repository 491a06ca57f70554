"""Bad texts: one file of testdata/bad a mistake, its last line the place and the message.

`// expect line:column message`, and `// hint …` where there is one. Some mistakes are only
met by whoever asks for the attribute, so everything is asked for.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from described import describe_module

from hlotool.errors import ParseError
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

PATHS = sorted((Path(__file__).parents[1] / "testdata" / "bad").glob("*.txt"))


def test_there_are_bad_texts() -> None:
    assert len(PATHS) > 90


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_message(path: Path, request: pytest.FixtureRequest) -> None:
    text, _, expectation = path.read_text(encoding="utf-8").partition("// expect ")
    with pytest.raises(ParseError) as caught:
        describe_module(parse_module(Source(text, path.name)))
    error = caught.value
    found = str(error).splitlines()[0].removeprefix(f"{path.name}:").replace(": ", " ", 1)
    found += f"\n// hint {error.hint}\n" if error.hint else "\n"
    if request.config.getoption("--update-golden"):
        path.write_text(f"{text}// expect {found}", encoding="utf-8")
    assert expectation == found
