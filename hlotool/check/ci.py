"""Budgets as CI systems read them: GitHub annotations, JUnit XML, and SARIF.

All three are made from the results of a check, whose texts are foreign: each format escapes them.
The file and line of a result are where the user should look: in the program, else in the
configuration.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final, TypeAlias
from urllib.parse import quote

from hlotool.check.results import RuleResult, write_sentence
from hlotool.table.sums import group_by
from hlotool.text import encode_json, escape

Json: TypeAlias = dict[str, object]

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_SLUG: Final = re.compile(r"[^a-z0-9]+")
_LINE_BREAK: Final = "\u2028"  # stands for one in XML: `escape` lets none of these through


def write_whole(result: RuleResult) -> str:
    """Write what was found, where, and the author's advice, which alone may have several lines."""
    where = f"{result.module}: " if result.module else ""
    advice = "\n".join(map(escape, (result.message or "").split("\n")))
    return escape(where + write_sentence(result)) + (f" {advice}" if advice else "")


def relative_file(path: str, root: str) -> str:
    """Return a path relative to the repository, with `/`; as it is where it lies elsewhere."""
    is_windows = "\\" in path or PureWindowsPath(path).drive != ""
    pure = PureWindowsPath(path) if is_windows else PurePosixPath(path)
    base = PureWindowsPath(root) if is_windows else PurePosixPath(root)
    if root and pure.is_relative_to(base):
        return pure.relative_to(base).as_posix()
    return pure.as_posix()


def render_github(results: Sequence[RuleResult]) -> str:
    """Return an annotation for every budget that did not pass, and a last line that counts.

    `::error file=…,line=…,title=…::message`, escaped as actions/toolkit does
    (packages/core/src/command.ts). GitHub shows the first ten errors and the first ten warnings
    of a step, so failures come before warnings.
    """
    reported = [one for one in results if one.status != "pass"]
    reported.sort(key=lambda one: one.severity == "warning")
    lines = [_command(one) for one in reported]
    passed = sum(one.status == "pass" for one in results)
    lines.append(f"hlotool: {passed} of {len(results)} budgets pass")
    return "".join(f"{line}\n" for line in lines)


def _command(result: RuleResult) -> str:
    properties = {"title": escape(f"hlotool: {result.name}")}
    if result.source_file:
        properties["file"] = result.source_file
        if result.source_line:
            properties["line"] = str(result.source_line)
    given = ",".join(f"{key}={_encode_property(value)}" for key, value in properties.items())
    return f"::{result.severity} {given}::{_encode(write_whole(result))}"


def _encode(text: str) -> str:
    """Write a text as the runner decodes it; a line break arrives as one."""
    lines = text.replace("%", "%25").split("\n")
    return "%0A".join(escape(line.replace("\r", "%0D")) for line in lines)


def _encode_property(text: str) -> str:
    return _encode(text).replace(":", "%3A").replace(",", "%2C")


def render_junit(results: Sequence[RuleResult]) -> str:
    """Return a test suite for each module, and in it a test case for each budget.

    Exceeded budgets are failures, what was not checked is an error. A budget that only warns
    passes; what it found stands in its output. Follows the schema that Jenkins publishes
    (jenkinsci/xunit-plugin, junit-10.xsd), the strictest reader of the format.
    """
    from xml.etree import ElementTree as ET  # noqa: PLC0415  start-up time

    suites = group_by(results, lambda one: one.module or "hlotool")
    root = ET.Element("testsuites", {"name": "hlotool check", **_counts(results)})
    for name, members in suites.items():
        suite = ET.SubElement(root, "testsuite", {"name": escape(name), **_counts(members)})
        for one in members:
            given = {"name": escape(one.name), "classname": escape(name), "time": "0"}
            case = ET.SubElement(suite, "testcase", given)
            tag = _tag(one)
            said = {"message": escape(write_sentence(one)), "type": one.status} if tag else {}
            body = ET.SubElement(case, tag or "system-out", said)
            is_warned = one.status != "pass" and not tag
            body.text = ("warning: " if is_warned else "") + _case_text(one)
    ET.indent(root)
    # ElementTree writes a line break as it is, and a text could then begin a line of a log that a
    # CI system takes for a command.
    text = ET.tostring(root, "unicode").replace(_LINE_BREAK, "&#10;")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _counts(results: Sequence[RuleResult]) -> dict[str, str]:
    tags = [_tag(one) for one in results]
    return {
        "tests": str(len(tags)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
    }


def _tag(result: RuleResult) -> str:
    """Return the element that makes a test case fail, '' for one that passes."""
    if result.status == "fail":
        return "" if result.severity == "warning" else "failure"
    return "error" if result.status != "pass" else ""


def _case_text(result: RuleResult) -> str:
    file, line = result.source_file, result.source_line
    place = escape(f" ({file}:{line})") if file and line else ""
    return (write_whole(result) + place).replace("\n", _LINE_BREAK)


def render_sarif(results: Sequence[RuleResult], version: str) -> str:
    """Return SARIF 2.1.0, which code scanning reads (docs.oasis-open.org/sarif/sarif/v2.1.0).

    One run; one rule a budget, one result a budget and module; passed ones are results of kind
    `pass`. Code scanning shows a result only where it has a place: give every result a file.
    """
    names = list(dict.fromkeys(one.name for one in results))
    ids = rule_ids(names)
    warnings = {one.name for one in results if one.severity == "warning"}
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
        "results": [_result(one, ids[one.name], names.index(one.name)) for one in results],
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


def _result(result: RuleResult, identifier: str, index: int) -> Json:
    # A finding is the same from run to run if budget and module are, whatever the figures.
    finding = f"{result.name}\0{result.module or ''}".encode("utf-8", "surrogatepass")
    made: Json = {
        "ruleId": identifier,
        "ruleIndex": index,
        "kind": "fail" if result.status != "pass" else "pass",
        "level": result.severity if result.status != "pass" else "none",
        # In SARIF, too, [text](address) is a link.
        "message": {"text": write_whole(result).replace("](", r"]\(")},
        "partialFingerprints": {"budget/v1": hashlib.sha256(finding).hexdigest()[:32]},
    }
    if result.source_file:
        made["locations"] = [
            {"physicalLocation": _place(result.source_file, result.source_line or 0)}
        ]
    return made


def _place(file: str, line: int) -> Json:
    is_absolute = file.startswith("/") or file[1:2] == ":"
    uri = quote(file, "/:" if is_absolute else "/", errors="surrogateescape")
    artifact: Json = {"uri": f"file://{'' if uri.startswith('/') else '/'}{uri}"}
    if not is_absolute:
        artifact = {"uri": uri, "uriBaseId": "%SRCROOT%"}
    return {"artifactLocation": artifact, "region": {"startLine": max(1, line)}}
