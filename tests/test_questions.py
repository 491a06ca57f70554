"""What becomes of the seventy questions is what was written down of them: `make questions`."""

from __future__ import annotations

import pytest
from questions import VERDICTS, ask, read_questions, write_verdict


@pytest.mark.hard
def test_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """No question is lost, and none is answered of the twin that does not have the problem."""
    monkeypatch.setenv("COLUMNS", "80")
    asked = [ask(question) for question in read_questions()]
    assert [write_verdict(one) for one in asked] == VERDICTS.read_text("utf-8").splitlines()
    assert not [one.question.number for one in asked if one.verdict == "wrong"]
