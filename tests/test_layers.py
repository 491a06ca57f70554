"""The import contract: a layer imports only what stands below it, a library has one home."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "hlotool"
BOTTOM = {"errors", "pattern", "text"}
BELOW = {
    "text": set[str](),
    "pattern": set[str](),
    "errors": {"text"},
    "table": BOTTOM,
    "proto": BOTTOM,
    "hlo": BOTTOM | {"table"},
    "oom": BOTTOM,
    "profile": BOTTOM | {"hlo", "proto", "table"},
    "export": BOTTOM | {"table"},
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
TOP = {"api", "testing"}  # what users import: may use everything but cli
HOMES = {
    "click": {"commands", "cli"},
    "distributed": {"dump"},
    "fsspec": {"dump"},
    "google": {"export", "profile", "proto"},
    "humanize": {"table"},
    "jinja2": {"page"},
    "plotly": {"page"},
    "pyarrow": {"export"},
    "pyparsing": {"table"},
    "re2": {"pattern"},
    "tabulate": {"table"},
    "zstandard": {"dump"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    """Return the layer a file belongs to; '' for the package itself."""
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
            yield node.module or ""
            if node.module == "hlotool":
                yield from (f"hlotool.{alias.name}" for alias in node.names)


def test_there_are_files() -> None:
    assert len(FILES) > 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    layer = layer_of(path)
    if layer in TOP or not layer:
        return
    allowed = BELOW[layer] | {layer}
    for module in imports_of(path):
        top, _, rest = module.partition(".")
        if top == "hlotool" and rest and rest != "__version__":
            assert rest.split(".")[0] in allowed, f"{layer} must not import {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_libraries_have_one_home(path: Path) -> None:
    for module in imports_of(path):
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names or top in {"hlotool", "msgspec"}:
            continue
        assert layer_of(path) in HOMES[top], f"{top} is imported in {', '.join(HOMES[top])} only"


def test_start_up_is_light() -> None:
    """`hlotool --help` imports no command, no renderer and no library but click."""
    script = (
        "import sys; from hlotool.cli import run; code = run(['--help']); "
        "print('|', code, sorted(m for m in sys.modules if m.split('.')[0] in "
        "{'hlotool', 'distributed', 'humanize', 'pyarrow', 'pyparsing', 'tabulate', 'zstandard', "
        "'multiprocessing'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    code, _, modules = done.stdout.rpartition("|")[2].strip().partition(" ")
    assert code == "0"
    assert ast.literal_eval(modules) == [
        "hlotool",
        "hlotool.cli",
        "hlotool.commands",
        "hlotool.commands.shared",
        "hlotool.commands.shared.messages",
        "hlotool.errors",
        "hlotool.text",
    ]
