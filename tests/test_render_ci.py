"""The formats that CI systems read, held to the structure that their schemas allow."""

from __future__ import annotations

import gzip
import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import jsonschema
import pytest
from dump_files import TESTDATA
from hypothesis import given
from hypothesis import strategies as st

from hlotool.check.ci import (
    relative_file,
    render_github,
    render_junit,
    render_sarif,
    rule_ids,
)
from hlotool.check.results import RuleResult, Status


def result(name: str, module: str | None, status: Status, says: str, **more: Any) -> RuleResult:
    kept = {"severity": "error", **more}
    return RuleResult(name=name, module=module, status=status, expression=says, **kept)


RESULTS = (
    result("temp memory", "jit_step", "pass", "4 GiB, limit 8 GiB"),
    result(
        "no f32: gathers, please",
        "jit_step",
        "fail",
        "2 rows match, 50% too many",
        severity="warning",
        message="See docs.\nOr ask.",
        source_file="model.py",
        source_line=14,
    ),
    result("peak", "jit_step", "fail", "<9> & \x00", source_file="a b/c.py", source_line=3),
    result("peak", None, "not-measured", "no module", source_file="/abs/hlotool.toml"),
    result("temp-memory", "jit_eval", "error", "it is broken"),
)

# The schema as it was published, and what the standard asks beyond it: a place is a URI, and what
# did not fail has no level (3.27.10).
SCHEMA = TESTDATA / "schemas" / "sarif-2.1.0-rtm.5.json.gz"
SARIF = jsonschema.Draft4Validator(json.loads(gzip.decompress(SCHEMA.read_bytes())))
URI = re.compile("(?:[A-Za-z0-9._~:/-]|%[0-9A-F]{2})*")  # as far as paths need it

# Attributes and children that junit-10.xsd allows.
JUNIT = {
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, {"testsuite"}),
    "testsuite": (
        {
            *("name", "tests", "failures", "errors", "time", "disabled", "skipped"),
            *("timestamp", "hostname", "id", "package"),
        },
        {"properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name", "assertions", "time", "classname", "status"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "system-out": (set(), set()),
}

given_results = st.lists(
    st.builds(
        RuleResult,
        name=st.text(min_size=1),
        module=st.none() | st.text(),
        status=st.sampled_from(("pass", "fail", "not-measured", "error")),
        severity=st.sampled_from(("error", "warning")),
        expression=st.text(),
        message=st.none() | st.text(),
        source_file=st.none() | st.text(),
        source_line=st.none() | st.integers(0, 10**6),
    ),
    max_size=5,
)


def check_junit(text: str, count: int) -> ET.Element:
    root = ET.fromstring(text)  # noqa: S314  our own output
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, children = JUNIT[element.tag]
        assert set(element.attrib) <= attributes
        assert {child.tag for child in element} <= children
    assert len(root.findall(".//testcase")) == int(root.attrib["tests"]) == count
    assert len(root.findall(".//failure")) == int(root.attrib["failures"])
    assert len(root.findall(".//error")) == int(root.attrib["errors"])
    return root


def check_sarif(text: str, count: int) -> dict[str, object]:
    made = json.loads(text)
    SARIF.validate(made)
    run: dict[str, object] = made["runs"][0]
    rules = made["runs"][0]["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    results = made["runs"][0]["results"]
    for result in results:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["kind"] == "fail" or result["level"] == "none"
        for place in result.get("locations", ()):
            assert URI.fullmatch(place["physicalLocation"]["artifactLocation"]["uri"])
    assert len(results) == count
    return run


@given(given_results)
def test_whatever_the_texts_hold(results: list[RuleResult]) -> None:
    check_junit(render_junit(results), len(results))
    check_sarif(render_sarif(results, "1.0"), len(results))
    lines = render_github(results).split("\n")
    reported = sum(one.status != "pass" for one in results)
    assert len(lines) == reported + 2
    assert all(re.match(r"::(?:error|warning) title=[^:]*?::", line) for line in lines[:reported])


def test_github() -> None:
    assert render_github(RESULTS).splitlines() == [
        "::error title=hlotool%3A peak,file=a b/c.py,line=3::jit_step: <9> & \\x00.",
        "::error title=hlotool%3A peak,file=/abs/hlotool.toml::no module.",
        "::error title=hlotool%3A temp-memory::jit_eval: it is broken.",
        (
            "::warning title=hlotool%3A no f32%3A gathers%2C please,file=model.py,line=14::"
            "jit_step: 2 rows match, 50%25 too many. See docs.%0AOr ask."
        ),
        "hlotool: 1 of 5 budgets pass",
    ]


def test_junit() -> None:
    root = check_junit(render_junit(RESULTS), 5)
    assert (root.attrib["failures"], root.attrib["errors"]) == ("1", "2")
    assert [suite.attrib["name"] for suite in root] == ["jit_step", "hlotool", "jit_eval"]
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text == r"jit_step: <9> & \x00. (a b/c.py:3)"
    warned = root[0][1].find("system-out")
    assert warned is not None
    assert warned.text is not None
    assert warned.text.startswith("warning: jit_step: 2 rows match")


@pytest.mark.parametrize("wrong", ["severe", None, 3])
def test_the_schema_refuses_what_it_should(wrong: object) -> None:
    made = json.loads(render_sarif(RESULTS, "1.0"))
    made["runs"][0]["results"][1]["level"] = wrong
    assert not SARIF.is_valid(made)


def test_sarif() -> None:
    run = check_sarif(render_sarif(RESULTS, "1.0"), 5)
    results = run["results"]
    assert isinstance(results, list)
    assert [one["level"] for one in results] == ["none", "warning", "error", "error", "error"]
    place = results[2]["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "a%20b/c.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3},
    }
    absolute = results[3]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert absolute == {"uri": "file:///abs/hlotool.toml"}


def test_rule_ids_are_stable_and_different() -> None:
    ids = rule_ids(["temp memory", "temp-memory", "…"])
    assert ids["temp memory"] == "hlotool/temp-memory"
    assert re.fullmatch(r"hlotool/temp-memory-[0-9a-f]{8}", ids["temp-memory"])
    assert re.fullmatch(r"hlotool/-[0-9a-f]{8}", ids["…"])


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("/home/me/repo/model.py", "/home/me/repo", "model.py"),
        ("/usr/lib/jax.py", "/home/me/repo", "/usr/lib/jax.py"),
        ("model.py", "/home/me/repo", "model.py"),
        ("C:\\repo\\a\\model.py", "C:\\repo", "a/model.py"),
        ("/home/me/repo/model.py", "", "/home/me/repo/model.py"),
    ],
)
def test_files_are_relative_to_the_repository(path: str, root: str, expected: str) -> None:
    assert relative_file(path, root) == expected
