"""How are nodes and arrows written for other tools? As Graphviz dot, and as Mermaid.

Names and labels are foreign text: they are quoted, and control characters are shown as escapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hlotool.escape import escape


class GraphNode(Struct, frozen=True):
    """A box: `name` tells it from others, `lines` stand in it."""

    name: str
    lines: tuple[str, ...]
    is_subject: bool = False


class GraphEdge(Struct, frozen=True):
    """An arrow from one box to another, by their names."""

    source: str
    target: str


def render_dot(nodes: Sequence[GraphNode], edges: Iterable[GraphEdge]) -> str:
    """Return a digraph in the language of Graphviz."""
    numbers = _number(nodes)
    lines = ["digraph {", '  node [shape=box, fontname="monospace"];']
    for node in nodes:
        label = "\\n".join(map(_quote_dot, node.lines))
        look = ", style=bold" if node.is_subject else ""
        lines.append(f'  n{numbers[node.name]} [label="{label}"{look}];')
    lines += [f"  n{numbers[one.source]} -> n{numbers[one.target]};" for one in edges]
    return "\n".join([*lines, "}", ""])


def render_mermaid(nodes: Sequence[GraphNode], edges: Iterable[GraphEdge]) -> str:
    """Return a flowchart in the language of Mermaid, as markdown of GitHub shows it."""
    numbers = _number(nodes)
    lines = ["flowchart TD"]
    for node in nodes:
        label = "<br>".join(map(_quote_mermaid, node.lines))
        lines.append(f'  n{numbers[node.name]}["{label}"]')
    lines += [f"  n{numbers[one.source]} --> n{numbers[one.target]}" for one in edges]
    lines += [f"  style n{numbers[one.name]} stroke-width:3px" for one in nodes if one.is_subject]
    return "\n".join([*lines, ""])


GRAPH_FORMATS: Final[Mapping[str, Callable[[Sequence[GraphNode], Iterable[GraphEdge]], str]]] = {
    "dot": render_dot,
    "mermaid": render_mermaid,
}


def _number(nodes: Iterable[GraphNode]) -> dict[str, int]:
    return {node.name: number for number, node in enumerate(nodes)}


def _quote_dot(text: str) -> str:
    return escape(text).replace("\\", "\\\\").replace('"', '\\"')


def _quote_mermaid(text: str) -> str:
    """Write what Mermaid, or the HTML that it makes, would take for its own as entities."""
    return "".join(
        each if each.isalnum() or each in " ._,-=/[]" else f"#{ord(each)};" for each in escape(text)
    )
