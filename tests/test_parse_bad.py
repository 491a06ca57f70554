"""Bad texts: the cases of testdata/bad, a mistake each, the last line the place and the message.

`// expect line:column message`, and `// hint …` where there is one. Some mistakes are only
met by whoever asks for the attribute, so everything is asked for.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from described import describe_module
from tables import TableCase, find_cases, rewrite

from hlotool.errors import ParseError
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

CASES = find_cases(Path(__file__).parents[1] / "testdata" / "bad")


def test_there_are_bad_texts() -> None:
    assert len(CASES) > 90


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_message(case: TableCase, request: pytest.FixtureRequest) -> None:
    text, _, expectation = case.text.partition("// expect ")
    with pytest.raises(ParseError) as caught:
        describe_module(parse_module(Source(text, case.name)))
    error = caught.value
    found = str(error).splitlines()[0].removeprefix(f"{case.name}:").replace(": ", " ", 1)
    found += f"\n// hint {error.hint}\n" if error.hint else "\n"
    if request.config.getoption("--update-golden"):
        rewrite(case, f"{text}// expect {found}")
    assert expectation == found
