"""Nodes and arrows for other tools: Graphviz dot, Mermaid, and the JSON of Model Explorer.

Names and labels are foreign text: they are quoted, and control characters are shown as escapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.text import encode_json, escape

GraphEdge: TypeAlias = tuple[str, str]  # from one box to another, by their names


class GraphNode(Struct, frozen=True):
    """A box: `name` tells it from others, `lines` stand in it."""

    name: str
    lines: tuple[str, ...]
    is_subject: bool = False


def render_dot(nodes: Sequence[GraphNode], edges: Iterable[GraphEdge]) -> str:
    """Return a digraph in the language of Graphviz."""
    # Boxes are called by numbers: names of instructions are no identifiers of either language.
    numbers = _number(nodes)
    lines = ["digraph {", '  node [shape=box, fontname="monospace"];']
    for node in nodes:
        label = "\\n".join(map(_quote_dot, node.lines))
        look = ", style=bold" if node.is_subject else ""
        lines.append(f'  n{numbers[node.name]} [label="{label}"{look}];')
    lines += [f"  n{numbers[source]} -> n{numbers[target]};" for source, target in edges]
    return "\n".join([*lines, "}", ""])


def render_mermaid(nodes: Sequence[GraphNode], edges: Iterable[GraphEdge]) -> str:
    """Return a flowchart in the language of Mermaid, as markdown of GitHub shows it."""
    numbers = _number(nodes)
    lines = ["flowchart TD"]
    for node in nodes:
        label = "<br>".join(map(_quote_mermaid, node.lines))
        lines.append(f'  n{numbers[node.name]}["{label}"]')
    lines += [f"  n{numbers[source]} --> n{numbers[target]}" for source, target in edges]
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


class ExplorerNode(Struct, frozen=True):
    """A box in a namespace, with what gives to it, by id, and what is told of it."""

    id: str
    label: str
    namespace: str
    incoming: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]


def render_model_explorer(title: str, nodes: Iterable[ExplorerNode]) -> str:
    """Return one collection of one graph; namespaces are paths, `a/b/c`."""
    listed = [
        {
            "id": escape(node.id),
            "label": escape(node.label),
            "namespace": escape(node.namespace),
            "incomingEdges": [
                {
                    "sourceNodeId": escape(one),
                    "sourceNodeOutputId": "0",
                    "targetNodeInputId": str(n),
                }
                for n, one in enumerate(node.incoming)
            ],
            "attrs": [{"key": key, "value": escape(value)} for key, value in node.attributes],
        }
        for node in nodes
    ]
    graph = {"id": escape(title), "nodes": listed}
    return encode_json({"label": escape(title), "graphs": [graph]}, indent=1) + "\n"
