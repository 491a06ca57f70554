"""What is a step called? Without names of instructions, which differ between compilations."""

from __future__ import annotations

from collections import Counter
from typing import Final

from hlotool.analysis.outline.tree import OutlineNode
from hlotool.fields.paths import fold_numbers, share_path

_MOST_OPCODES: Final = 4  # named in a step


def write_step(node: OutlineNode) -> str:
    """Say what a node is."""
    if node.kind == "loop":
        rounds = "?" if node.trip_count is None else f"{node.trip_count:,}"
        return f"loop, {rounds} rounds{_elsewhere(node)}"
    if node.kind == "conditional":
        return f"conditional, {len(node.children)} branches"
    if node.kind == "branch":
        return f"branch {node.branch}{_elsewhere(node)}"
    if node.kind == "call":
        return f"call{_elsewhere(node)}"
    if node.kind == "repeat":
        return f"{node.count} in a row: {_name_repeated(node)}"
    if node.collectives:
        return _name_collective(node)
    return _count_opcodes(node.opcodes)


def _count_opcodes(opcodes: Counter[str]) -> str:
    listed = [
        f"{opcode} ×{count}" if count > 1 else opcode
        for opcode, count in opcodes.most_common(_MOST_OPCODES)
    ]
    more = len(opcodes) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")


def _elsewhere(node: OutlineNode) -> str:
    return ", listed where it runs first" if node.is_shown_elsewhere else ""


def _name_repeated(node: OutlineNode) -> str:
    return share_path(list(map(fold_numbers, node.scopes))) if node.scopes else "the same"


def _name_collective(node: OutlineNode) -> str:
    row = node.collectives[0]
    over = f" over {', '.join(row.axes)}" if row.axes else ""
    if node.kind == "wait":
        return f"done: {row.kind}{over}"
    if node.beside:
        return f"{row.kind}{over}, {row.dtype}, beside {_count_opcodes(node.beside)}"
    start = " starts" if row.is_async and not row.is_sync and not node.children else ""
    beside = ", beside:" if node.children else ""
    return f"{row.kind}{start}{over}, {row.dtype}{beside}"
