"""Budgets as SARIF 2.1.0, which code scanning reads (docs.oasis-open.org/sarif/sarif/v2.1.0).

One rule a budget, one result a budget and module; passed ones are results of kind `pass`.
Code scanning shows a result only where it has a place: give every outcome a file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from urllib.parse import quote

from hlotool.escape import encode_json, escape
from hlotool.render.outcome import Outcome

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
