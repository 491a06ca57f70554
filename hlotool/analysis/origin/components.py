"""Which components has an op_name, and which transformations are wrapped around each?"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

_CACHE_SIZE: Final = 1 << 12
_DEEPEST: Final = 64  # wrappers inside one component; beyond that it is left as it stands

# Wrappers whose argument is the scope they were applied in: `transpose(jvp(head))`.
_TRANSFORMS: Final = frozenset(
    (
        "jvp", "transpose", "vmap", "vjp", "linearize", "remat", "checkpoint", "rematted",
        "batch", "partial_eval", "custom_jvp", "custom_vjp", "mask", "shard_map",
    )
)  # fmt: skip
# Wrappers whose argument is the name of a compiled function, not of a module.
_CALLS: Final = frozenset(("jit", "pjit", "pmap", "xmap", "xla_call", "soft_pmap", "named_call"))
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"


class Component(NamedTuple):
    """One name of an op_name; '' is one as well. Its wrappers are off."""

    name: str
    is_wrapped: bool = False  # a transformation begins here: `jvp(head)`
    is_transposed: bool = False  # it is `transpose`, perhaps inside others


@lru_cache(maxsize=_CACHE_SIZE)
def read_component(part: str) -> tuple[Component, ...]:
    """Take the wrappers off one component; their argument may itself be a path."""
    heads = set()
    for _ in range(_DEEPEST):
        head, bracket, inner = part.partition("(")
        if not bracket or not inner.endswith(")"):
            break
        if head in _CALLS:
            part = ""
            break
        if head not in _TRANSFORMS:
            break
        heads.add(head)
        part = inner[:-1]
    first, *rest = split(part, "/") if "(" not in part else [part]
    return (Component(first, bool(heads), "transpose" in heads), *map(Component, rest))


def split(text: str, separator: str) -> list[str]:
    """Split at a separator outside brackets and quotes; unbalanced text splits everywhere."""
    pieces = text.split(separator)
    if len(pieces) == 1:
        return pieces
    if "'" in text or '"' in text:
        return _split_quoted(text, separator) or pieces
    if not ("(" in text or "[" in text or "{" in text):
        return pieces
    parts: list[str] = []
    held: list[str] = []
    depth = 0
    for piece in pieces:
        held.append(piece)
        depth += sum(map(piece.count, _OPENING)) - sum(map(piece.count, _CLOSING))
        if not depth:
            parts.append(separator.join(held))
            held = []
    return pieces if depth else parts


def _split_quoted(text: str, separator: str) -> list[str]:
    """Split, character by character, text that may hold quotes; return none if unbalanced."""
    parts: list[str] = []
    start = depth = 0
    quote = ""
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
        elif char == separator and not depth:
            parts.append(text[start:place])
            start = place + 1
    return [] if depth or quote else [*parts, text[start:]]
