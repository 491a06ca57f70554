"""Budgets as CI systems read them: GitHub annotations, JUnit XML, and SARIF.

All three are made from one record, `Outcome`, whose texts are foreign: each format escapes them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final, Literal, TypeAlias
from urllib.parse import quote

from msgspec import Struct

from hlotool.text import encode_json, escape

Status: TypeAlias = Literal["pass", "fail", "no-match", "error"]
Json: TypeAlias = dict[str, object]

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_SLUG: Final = re.compile(r"[^a-z0-9]+")
_LINE_BREAK: Final = "\u2028"  # stands for one in XML: `escape` lets none of these through


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


def render_github(outcomes: Sequence[Outcome]) -> str:
    """Return an annotation for every budget that did not pass, and a last line that counts.

    `::error file=…,line=…,title=…::message`, escaped as actions/toolkit does
    (packages/core/src/command.ts). GitHub shows the first ten errors and the first ten warnings
    of a step, so failures come before warnings.
    """
    reported = sorted((one for one in outcomes if one.is_reported), key=lambda one: one.is_warning)
    lines = [_command(one) for one in reported]
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
    """Return a test suite for each module, and in it a test case for each budget.

    Exceeded budgets are failures, what was not checked is an error. A budget that only warns
    passes; what it found stands in its output. Follows the schema that Jenkins publishes
    (jenkinsci/xunit-plugin, junit-10.xsd), the strictest reader of the format.
    """
    from xml.etree import ElementTree as ET  # noqa: PLC0415  start-up time

    suites: dict[str, list[Outcome]] = {}
    for one in outcomes:
        suites.setdefault(one.module or "hlotool", []).append(one)
    root = ET.Element("testsuites", {"name": "hlotool check", **_counts(outcomes)})
    for name, members in suites.items():
        suite = ET.SubElement(root, "testsuite", {"name": escape(name), **_counts(members)})
        for one in members:
            given = {"name": escape(one.rule), "classname": escape(name), "time": "0"}
            case = ET.SubElement(suite, "testcase", given)
            tag = _tag(one)
            said = {"message": escape(one.text), "type": one.status} if tag else {}
            body = ET.SubElement(case, tag or "system-out", said)
            is_warned = one.is_reported and not tag
            body.text = ("warning: " if is_warned else "") + _case_text(one)
    ET.indent(root)
    # ElementTree writes a line break as it is, and a text could then begin a line of a log that a
    # CI system takes for a command.
    text = ET.tostring(root, "unicode").replace(_LINE_BREAK, "&#10;")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _counts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    tags = [_tag(one) for one in outcomes]
    return {
        "tests": str(len(tags)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
    }


def _tag(outcome: Outcome) -> str:
    """Return the element that makes a test case fail, '' for one that passes."""
    if outcome.status == "fail":
        return "" if outcome.is_warning else "failure"
    return "error" if outcome.is_reported else ""


def _case_text(outcome: Outcome) -> str:
    place = escape(f" ({outcome.file}:{outcome.line})") if outcome.file and outcome.line else ""
    return (outcome.full_text + place).replace("\n", _LINE_BREAK)


def render_sarif(outcomes: Sequence[Outcome], version: str) -> str:
    """Return SARIF 2.1.0, which code scanning reads (docs.oasis-open.org/sarif/sarif/v2.1.0).

    One run; one rule a budget, one result a budget and module; passed ones are results of kind
    `pass`. Code scanning shows a result only where it has a place: give every outcome a file.
    """
    names = list(dict.fromkeys(one.rule for one in outcomes))
    ids = rule_ids(names)
    warnings = {one.rule for one in outcomes if one.is_warning}
    run: Json = {
        "tool": {
            "driver": {
                "name": "hlotool",
                "version": version,
                "rules": [
                    {
                        "id": ids[name],
                        "shortDescription": {"text": escape(name)},
                        "defaultConfiguration": {
                            "level": "warning" if name in warnings else "error"
                        },
                    }
                    for name in names
                ],
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


def _result(outcome: Outcome, identifier: str, index: int) -> Json:
    level = "warning" if outcome.is_warning else "error"
    # A finding is the same from run to run if budget and module are, whatever the figures.
    finding = f"{outcome.rule}\0{outcome.module}".encode("utf-8", "surrogatepass")
    made: Json = {
        "ruleId": identifier,
        "ruleIndex": index,
        "kind": "fail" if outcome.is_reported else "pass",
        "level": level if outcome.is_reported else "none",
        "message": {"text": outcome.full_text},
        "partialFingerprints": {"budget/v1": hashlib.sha256(finding).hexdigest()[:32]},
    }
    if outcome.file:
        made["locations"] = [{"physicalLocation": _place(outcome)}]
    return made


def _place(outcome: Outcome) -> Json:
    is_absolute = outcome.file.startswith("/") or outcome.file[1:2] == ":"
    uri = quote(outcome.file, "/:" if is_absolute else "/", errors="surrogateescape")
    artifact: Json = {"uri": f"file://{'' if uri.startswith('/') else '/'}{uri}"}
    if not is_absolute:
        artifact = {"uri": uri, "uriBaseId": "%SRCROOT%"}
    return {"artifactLocation": artifact, "region": {"startLine": max(1, outcome.line)}}
