"""What the nodes of the IR share: identity, and a `repr` that does not walk the graph."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import asdict

_PLAIN = (str, int, float, type(None))
_LONGEST = 200  # characters of one field; some fields hold a whole dump


class Node(Struct, eq=False):
    """A node equals only itself; its fields may lead to other nodes, in circles."""

    def __repr__(self) -> str:
        """Show the plain fields."""
        plain = {name: value for name, value in asdict(self).items() if isinstance(value, _PLAIN)}
        shown = (f"{name}={repr(value)[:_LONGEST]}" for name, value in plain.items())
        return f"{type(self).__name__}({', '.join(shown)})"
