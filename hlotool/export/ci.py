"""What a CI system is told about one budget: the record that its formats are made from.

Budgets as GitHub annotations: workflow commands on standard output.

`::error file=…,line=…,title=…::message`, escaped as actions/toolkit does
(packages/core/src/command.ts). GitHub shows the first ten errors and the first ten warnings
of a step, so the worst come first.

Budgets as JUnit XML: one test suite a module, one test case a budget.

Follows the schema that Jenkins publishes (jenkinsci/xunit-plugin, junit-10.xsd), the
strictest reader of the format.

Budgets as SARIF 2.1.0, which code scanning reads (docs.oasis-open.org/sarif/sarif/v2.1.0).

One rule a budget, one result a budget and module; passed ones are results of kind `pass`.
Code scanning shows a result only where it has a place: give every outcome a file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal, TypeAlias
from urllib.parse import quote
from xml.sax import saxutils

from msgspec import Struct

from hlotool.text import encode_json, escape

Status: TypeAlias = Literal["pass", "fail", "no-match", "error"]


class Outcome(Struct, frozen=True):
    """One budget in one module. `text` says what was found, `advice` what its author says.

    All of it is as the dump and the configuration have it; the formats print it escaped.

    `file` and `line` are where the user should look: a line of the program, else of the
    configuration; '' and 0 where neither is known.
    """

    rule: str
    module: str
    status: Status
    is_warning: bool
    text: str
    advice: str = ""
    file: str = ""
    line: int = 0

    @property
    def is_reported(self) -> bool:
        """Whether there is something to complain about."""
        return self.status != "pass"

    @property
    def full_text(self) -> str:
        """What was found, where, and the author's advice, which alone may have several lines."""
        where = f"{self.module}: " if self.module else ""
        advice = "\n".join(map(escape, self.advice.split("\n")))
        return escape(where + self.text) + (f" {advice}" if advice else "")


def relative_file(path: str, root: str) -> str:
    """Return a path relative to the repository, with `/`; as it is where it lies elsewhere."""
    is_windows = "\\" in path or PureWindowsPath(path).drive != ""
    pure = PureWindowsPath(path) if is_windows else PurePosixPath(path)
    base = PureWindowsPath(root) if is_windows else PurePosixPath(root)
    if root and pure.is_relative_to(base):
        return pure.relative_to(base).as_posix()
    return pure.as_posix()


def worst_first(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Sort what is to be reported: failures before warnings, else in the given order."""
    return sorted((one for one in outcomes if one.is_reported), key=lambda one: one.is_warning)


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


_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SLUG = re.compile(r"[^a-z0-9]+")
Json = dict[str, object]


def render_sarif(outcomes: Sequence[Outcome], version: str) -> str:
    """Return one run with all results."""
    names = list(dict.fromkeys(one.rule for one in outcomes))
    ids = rule_ids(names)
    warnings = {one.rule for one in outcomes if one.is_warning}
    run: Json = {
        "tool": {
            "driver": {
                "name": "hlotool",
                "version": version,
                "rules": [_rule(name, ids[name], is_warning=name in warnings) for name in names],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, ids[one.rule], names.index(one.rule)) for one in outcomes],
    }
    document: Json = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return encode_json(document, indent=2) + "\n"


def rule_ids(names: Sequence[str]) -> dict[str, str]:
    """Give every budget a stable identifier made from its name."""
    ids: dict[str, str] = {}
    for name in names:
        slug = _SLUG.sub("-", name.lower()).strip("-")[:60]
        mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        is_taken = f"hlotool/{slug}" in ids.values()
        ids[name] = f"hlotool/{slug}" if slug and not is_taken else f"hlotool/{slug}-{mark}"
    return ids


def _rule(name: str, identifier: str, *, is_warning: bool) -> Json:
    return {
        "id": identifier,
        "shortDescription": {"text": escape(name)},
        "defaultConfiguration": {"level": "warning" if is_warning else "error"},
    }


def _result(outcome: Outcome, identifier: str, index: int) -> Json:
    made: Json = {
        "ruleId": identifier,
        "ruleIndex": index,
        "kind": "fail" if outcome.is_reported else "pass",
        "level": _level(outcome),
        "message": {"text": outcome.full_text},
        "partialFingerprints": {"budget/v1": _fingerprint(outcome)},
    }
    if outcome.file:
        made["locations"] = [{"physicalLocation": _place(outcome)}]
    return made


def _level(outcome: Outcome) -> str:
    if not outcome.is_reported:
        return "none"
    return "warning" if outcome.is_warning else "error"


def _place(outcome: Outcome) -> Json:
    is_absolute = outcome.file.startswith("/") or outcome.file[1:2] == ":"
    safe = "/:" if is_absolute else "/"
    uri = quote(outcome.file, safe, errors="surrogateescape")
    artifact: Json = {"uri": f"file://{'' if uri.startswith('/') else '/'}{uri}"}
    if not is_absolute:
        artifact = {"uri": uri, "uriBaseId": "%SRCROOT%"}
    return {"artifactLocation": artifact, "region": {"startLine": max(1, outcome.line)}}


def _fingerprint(outcome: Outcome) -> str:
    """Identify a finding from run to run: the budget and the module, not the figures."""
    text = f"{outcome.rule}\0{outcome.module}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
