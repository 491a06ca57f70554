"""Collect the sentences that hlotool prints: literals, f-strings, help, fields and the glossary."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent / "hlotool"
# Where sentences are written, by the heading they get; a file that is not here holds none.
PLACES = {
    "All commands": "cli errors commands/__init__ commands/shared/ start api testing __init__",
    "summary": "commands/summary analysis/summary/ analysis/measured analysis/log",
    "findings": "analysis/findings/",
    "buffers": "commands/buffers/ analysis/memory_text analysis/memory/",
    "fusions": "commands/fusions analysis/fusions/ analysis/cost/",
    "collectives": "commands/collectives analysis/collectives/",
    "shardings": "commands/shardings analysis/shardings/",
    "outline": "commands/outline analysis/outline/",
    "show": "commands/show analysis/show/ analysis/origin",
    "report": "commands/report page/",
    "diff": "commands/diff/ compare/",
    "fit": "commands/fit compare/fit/",
    "check": "commands/check check/",
    "passes": "commands/passes analysis/passes",
    "text, explain, mcp": "commands/text commands/explain commands/mcp pytest_plugin",
    "fields, schema": "commands/fields commands/schema",
    "Rows, expressions and formats": "table/ export/",
    "Inputs": "dump/ oom/ profile/ program/ text",
    "HLO": "hlo/ proto/ analysis/dataflow/ analysis/graph/",
}
LEAST_WORDS = 3
_WORD = re.compile(r"[A-Za-z]{2,}")
# Regular expressions, addresses, examples of commands, HLO text, lists of names.
_NO_PROSE = re.compile(
    r"\\|\(\?|\|\w+\||\$\||https?:|^hlotool [a-z]+ [^-].*"
    r"|^[\w.]+=\S*$|^\w+\[[^ ]*$|^[a-z ]+(_[a-z ]+){2,}$"
)

INTRODUCTION = """\
# Sentences

Every sentence that hlotool can print, for the reader who corrects them; `make docs` collects them
from the code. A placeholder is called by its name, and is filled with a figure or a name.
"""


def find_sentences(path: Path) -> Iterator[str]:
    """Yield the sentences of a file of Python, from the top to the bottom."""
    yield from _walk(ast.parse(path.read_text(encoding="utf-8")))


def _walk(node: ast.AST) -> Iterator[str]:
    text = _render(node) if isinstance(node, ast.expr) else None
    if text is not None:
        words = _WORD.findall(re.sub(r"\{[^}]*\}", "", text))
        if len(words) >= LEAST_WORDS and " " in text and not _NO_PROSE.search(text):
            yield " ".join(text.split())
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
        (".split", "_opcodes", "_infers")
    ):
        return  # words of the program, such as opcodes
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            if _is_command(node):  # the docstring of a command is its help
                yield from _walk(child.value)
        else:
            yield from _walk(child)


def _is_command(node: ast.AST) -> bool:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any("command" in ast.unparse(each) for each in decorators)


def _render(node: ast.expr) -> str | None:
    """Return the text of a literal, of an f-string, or of a sum of them; None of anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_render(part) or "" for part in parts)
        case ast.FormattedValue(value=value):
            return f"{{{_name(value)}}}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = _render(left), _render(right)
            return None if None in texts else "".join(filter(None, texts))
        case _:
            return None


def _name(node: ast.expr) -> str:
    """Return the name of what fills a placeholder, or its words where it is a choice of these."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return f"{_name(body)}|{_name(orelse)}"
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(args=[first, ast.Constant(value=str(noun)), *_]):
            return f"{_name(first)} {noun}"
        case ast.Call(args=[first, *_]):
            return _name(first)
        case ast.Call(func=function):
            return _name(function)
        case ast.Subscript(value=value) | ast.Starred(value=value):
            return _name(value)
        case _:
            text = _render(node)
            return "…" if text is None else text


def find_heading(path: Path) -> str | None:
    """Return the heading for the sentences of a file: that of the longest place that names it."""
    name = path.relative_to(PACKAGE).with_suffix("").as_posix()
    places = [
        (len(place), heading)
        for heading, listed in PLACES.items()
        for place in listed.split()
        if name == place or (place.endswith("/") and name.startswith(place))
    ]
    return max(places)[1] if places else None


def collect() -> dict[str | None, list[str]]:
    """Return the sentences under their headings; under None those that nothing may hold."""
    found: dict[str | None, dict[str, None]] = {heading: {} for heading in [*PLACES, None]}
    for path in sorted(PACKAGE.rglob("*.py")):
        found[find_heading(path)] |= dict.fromkeys(find_sentences(path))
    for heading, name in {"diff": "reasons", "Inputs": "kinds"}.items():
        for each in _read_data(name).values():
            texts = (" ".join(each.get(key, "").split()) for key in ("meaning", "says"))
            found[heading] |= dict.fromkeys(text for text in texts if " " in text)
    return {heading: list(texts) for heading, texts in found.items()} | {
        "Glossary": [f"{term}: {text}" for term, text in _read_data("glossary").items()]
    }


def _read_data(name: str) -> dict[str, Any]:
    return tomllib.loads((PACKAGE / "data" / f"{name}.toml").read_text(encoding="utf-8"))


def write_page() -> str:
    """Return docs/sentences.md."""
    parts = [INTRODUCTION]
    for heading, texts in collect().items():
        if heading is not None:
            parts.append("\n".join([f"\n## {heading}\n", "```", *texts, "```\n"]))
    return "".join(parts)
