"""How is a graph written for Model Explorer? As the JSON that its user interface opens."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from hlotool.escape import encode_json, escape


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
