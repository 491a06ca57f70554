"""The code keeps the contract of `layers`: imports point down, nothing imports in a circle."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from layers import BELOW, FILES, HOMES, PACKAGE, TOP, imports_of, layer_of


def test_there_are_files() -> None:
    assert len(FILES) > 30


def test_imports_point_down() -> None:
    wrong = []
    for path in FILES:
        layer = layer_of(path)
        if layer in TOP or not layer:
            continue
        allowed = BELOW[layer] | {layer}
        for module in imports_of(path):
            if not module.startswith("hlotool.") or module == "hlotool.__version__":
                continue
            if module.split(".")[1] not in allowed:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {module}")
    assert not wrong


def test_libraries_have_one_home() -> None:
    wrong = []
    for path in FILES:
        for module in imports_of(path):
            top = module.partition(".")[0]
            if top in sys.stdlib_module_names or top in {"hlotool", "msgspec"}:
                continue
            if layer_of(path) not in HOMES[top]:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {top}: {HOMES[top]} may")
    assert not wrong


def test_nothing_imports_in_a_circle() -> None:
    """Neither files, nor rooms of rooms: `analysis/cost` is one of them."""
    files = {_name(path): _list_imported(path) for path in FILES if layer_of(path)}
    assert _find_circle(files) is None
    rooms: dict[str, set[str]] = {}
    for name, imported in files.items():
        own = name.rpartition(".")[0]
        known = rooms.setdefault(own, set())
        known.update(room for one in imported if (room := one.rpartition(".")[0]) != own)
    # A room within a room is part of it: its door may import it, and it what stands in the door.
    apart = {
        room: {
            other for other in known if not other.startswith(room) and not room.startswith(other)
        }
        for room, known in rooms.items()
    }
    assert _find_circle(apart) is None


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _list_imported(path: Path) -> set[str]:
    names = {_name(one) for one in FILES}
    return {module for module in imports_of(path) if module in names - {"hlotool", _name(path)}}


def _find_circle(graph: Mapping[str, Iterable[str]]) -> list[str] | None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return None


def test_pages_name_what_is_there() -> None:
    """A path into hlotool/ that stands in the docs, `dump/stores`, is a file or a room."""
    wrong = [
        f"{page.name}: {name}"
        for page in [PACKAGE.parent / "CONTRIBUTING.md", *(PACKAGE.parent / "docs").glob("*.md")]
        for name in re.findall(r"`(?:hlotool/)?([a-z_]+/[a-z_/.]+)`", page.read_text("utf-8"))
        if name.split("/")[0] in BELOW
        and not (PACKAGE / name).exists()
        and not (PACKAGE / f"{name}.py").exists()
    ]
    assert not wrong


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
