"""The contract of imports: which room may import which, and where each library is at home.

`test_layers` holds the code to it, `docs/make_docs.py` prints it in docs/architecture.md.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "hlotool"
BOTTOM = {"errors", "text"}
BELOW = {
    "text": set[str](),
    "errors": {"text"},
    "table": BOTTOM,
    "proto": BOTTOM,
    "oom": BOTTOM,
    "hlo": BOTTOM | {"table"},
    "profile": BOTTOM | {"hlo", "proto"},
    "export": BOTTOM | {"proto", "table"},
    "analysis": BOTTOM | {"hlo", "oom", "table"},
    "dump": BOTTOM | {"hlo", "oom", "profile", "proto", "table"},
}
BELOW["program"] = BELOW["dump"] | {"analysis", "dump"}
BELOW["compare"] = BELOW["program"] | {"program"}
BELOW["check"] = BELOW["compare"] | {"compare"}
BELOW["page"] = BELOW["compare"] | {"compare"}
BELOW["commands"] = BELOW["check"] | {"check", "export", "page"}
BELOW["cli"] = BOTTOM | {"commands", "table"}
BELOW["start"] = {"cli"}
BELOW["__main__"] = {"start"}
TOP = {"api", "pytest_plugin", "testing"}  # what users import: may use everything but cli
HOMES = {
    "anyio": {"commands"},
    "click": {"commands", "cli"},
    "distributed": {"dump"},
    "fsspec": {"dump"},
    "google": {"profile", "proto"},
    "humanize": {"table"},
    "jaxlib": {"dump"},
    "jinja2": {"page"},
    "mcp": {"commands"},
    "pyarrow": {"export"},
    "pyparsing": {"table"},
    "pytest": {"pytest_plugin"},
    "re2": {"text"},
    "tabulate": {"table"},
    "zstandard": {"dump"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    """Return the room a file belongs to; '' for the package itself."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """Return every module a file imports, wherever in it the import stands."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            module = node.module or ""
            for alias in node.names:  # of a room: a file of it, or what its `__init__` holds
                inner = f"{module}.{alias.name}"
                is_file = (PACKAGE.parent / f"{inner.replace('.', '/')}.py").exists()
                yield inner if is_file or module == "hlotool" else module


def write_table() -> str:
    """Return the rooms from top to bottom as a table: what each holds, imports and is home to."""
    lines = ["| room | holds | imports | is the home of |", "|---|---|---|---|"]
    for room in reversed(BELOW):
        path = PACKAGE / room / "__init__.py"
        path = path if path.exists() else PACKAGE / f"{room}.py"
        holds = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0]
        nearest = BELOW[room] - set[str]().union(*(BELOW[other] for other in BELOW[room]))
        libraries = ", ".join(name for name, homes in HOMES.items() if room in homes)
        below = ", ".join(f"`{name}`" for name in sorted(nearest))
        lines.append(f"| `{room}` | {holds} | {below} | {libraries} |")
    return (
        "\n".join(lines)
        + "\n\n`imports` names the nearest rooms; what these import is allowed too.\n"
    )
