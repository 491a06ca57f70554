"""Budgets as JUnit XML: one test suite a module, one test case a budget.

Follows the schema that Jenkins publishes (jenkinsci/xunit-plugin, junit-10.xsd), the
strictest reader of the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax import saxutils

from hlotool.escape import escape
from hlotool.render.outcome import Outcome


def render_junit(outcomes: Sequence[Outcome]) -> str:
    """Return a document whose failures are exceeded budgets, and errors what was not checked.

    A budget that only warns passes; what it found stands in its output.
    """
    suites: dict[str, list[Outcome]] = {}
    for one in outcomes:
        suites.setdefault(one.module or "hlotool", []).append(one)
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines.append(_open("testsuites", [("name", "hlotool check"), *_counts(outcomes)]))
    for name, members in suites.items():
        lines.append("  " + _open("testsuite", [("name", name), *_counts(members)]))
        lines += [f"    {line}" for one in members for line in _case(one, name)]
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "".join(f"{line}\n" for line in lines)


def _counts(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    failures = sum(_tag(one) == "failure" for one in outcomes)
    errors = sum(_tag(one) == "error" for one in outcomes)
    return [("tests", str(len(outcomes))), ("failures", str(failures)), ("errors", str(errors))]


def _case(outcome: Outcome, suite: str) -> list[str]:
    tag = _tag(outcome)
    place = escape(f" ({outcome.file}:{outcome.line})") if outcome.file and outcome.line else ""
    body = _text(outcome.full_text + place)
    attributes = [("name", outcome.rule), ("classname", suite), ("time", "0")]
    if not outcome.is_reported:
        inside = f"<system-out>{body}</system-out>"
    elif tag:
        opened = _open(tag, [("message", outcome.text), ("type", outcome.status)])
        inside = f"{opened}{body}</{tag}>"
    else:
        inside = f"<system-out>warning: {body}</system-out>"
    return [_open("testcase", attributes), f"  {inside}", "</testcase>"]


def _tag(outcome: Outcome) -> str:
    if outcome.status == "fail":
        return "" if outcome.is_warning else "failure"
    return "error" if outcome.is_reported else ""


def _open(tag: str, attributes: Sequence[tuple[str, str]]) -> str:
    given = "".join(f" {key}={saxutils.quoteattr(escape(value))}" for key, value in attributes)
    return f"<{tag}{given}>"


def _text(text: str) -> str:
    """Write a text that is escaped already; its line breaks stay, but begin no line."""
    return saxutils.escape(text, {"\n": "&#10;"})
