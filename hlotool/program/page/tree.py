"""The memory held at the peak, added up along paths: what a treemap is drawn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from hlotool.analysis.memory.values.value_rows import BufferRow
from hlotool.analysis.origin.origin import write_short_source

_MOST_BOXES: Final = 600
_NONE: Final = "(unknown)"


class Tree(Struct, frozen=True):
    """Boxes in boxes: of each its path, its label, the path of what holds it, and its bytes."""

    paths: tuple[str, ...]
    labels: tuple[str, ...]
    parents: tuple[str, ...]
    sizes: tuple[int, ...]


def grow_trees(rows: Iterable[BufferRow]) -> dict[str, Tree]:
    """Return the values at the peak by scope, by the tree of parameters, and by source line."""
    values = list(rows)
    return {name: _grow(values, path_of) for name, path_of in _TREES.items()}


def _by_scope(row: BufferRow) -> tuple[str, ...]:
    return tuple((row.scope or row.parameter_tree or _NONE).split("/"))


def _by_parameter(row: BufferRow) -> tuple[str, ...]:
    if row.parameter_name is None:
        return (f"no parameter: {row.class_}",)
    tree = row.parameter_tree or row.parameter_name
    return (tree, row.parameter_name)


def _by_source(row: BufferRow) -> tuple[str, ...]:
    if row.source_file is None:
        return (_NONE,)
    file = write_short_source(row.source_file, None) or row.source_file
    return (file, f"{file}:{row.source_line}")


_TREES: Final[Mapping[str, Callable[[BufferRow], tuple[str, ...]]]] = {
    "scope": _by_scope,
    "parameter": _by_parameter,
    "source": _by_source,
}


def _grow(rows: Iterable[BufferRow], path_of: Callable[[BufferRow], tuple[str, ...]]) -> Tree:
    """Add up bytes along paths; the smallest boxes are left to the boxes that hold them."""
    sizes: dict[tuple[str, ...], int] = {}
    for row in rows:
        path = (*path_of(row), row.value)
        for length in range(1, len(path) + 1):
            part = path[:length]
            sizes[part] = sizes.get(part, 0) + (row.occupied_bytes or 0)
    boxes = sorted((path for path in sizes if sizes[path]), key=lambda path: -sizes[path])
    kept = set(boxes[:_MOST_BOXES])
    shown = sorted(path for path in kept if all(path[:end] in kept for end in range(1, len(path))))
    return Tree(
        tuple("\x1f".join(path) for path in shown),
        tuple(path[-1] for path in shown),
        tuple("\x1f".join(path[:-1]) for path in shown),
        tuple(sizes[path] for path in shown),
    )
