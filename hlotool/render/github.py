"""Budgets as GitHub annotations: workflow commands on standard output.

`::error file=…,line=…,title=…::message`, escaped as actions/toolkit does
(packages/core/src/command.ts). GitHub shows the first ten errors and the first ten warnings
of a step, so the worst come first.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.escape import escape
from hlotool.render.outcome import Outcome, worst_first


def render_github(outcomes: Sequence[Outcome]) -> str:
    """Return an annotation for every budget that did not pass, and a last line that counts."""
    lines = [_command(one) for one in worst_first(outcomes)]
    passed = sum(one.status == "pass" for one in outcomes)
    lines.append(f"hlotool: {passed} of {len(outcomes)} budgets pass")
    return "".join(f"{line}\n" for line in lines)


def _command(outcome: Outcome) -> str:
    properties = {"title": escape(f"hlotool: {outcome.rule}")}
    if outcome.file:
        properties["file"] = outcome.file
        if outcome.line:
            properties["line"] = str(outcome.line)
    given = ",".join(f"{key}={_encode_property(value)}" for key, value in properties.items())
    name = "warning" if outcome.is_warning else "error"
    return f"::{name} {given}::{_encode(outcome.full_text)}"


def _encode(text: str) -> str:
    """Write a text as the runner decodes it; a line break arrives as one."""
    lines = text.replace("%", "%25").split("\n")
    return "%0A".join(escape(line.replace("\r", "%0D")) for line in lines)


def _encode_property(text: str) -> str:
    return _encode(text).replace(":", "%3A").replace(",", "%2C")
