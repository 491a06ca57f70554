"""Scopes: which part of the user's model an instruction belongs to."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_CACHE_SIZE: Final = 1 << 16
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
# Components that JAX writes for control flow and rematerialization.
_STRUCTURE: Final = frozenset(
    (
        "", "closed_call", "core_call", "checkpoint", "remat", "remat2", "rematted_computation",
        "custom_jvp_call", "custom_jvp_call_jaxpr", "custom_vjp_call", "custom_vjp_call_jaxpr",
        "custom_lin", "shard_map", "pjit", "xla_call", "core_closed_call",
    )
)  # fmt: skip
_CONTROL: Final = frozenset(("while", "cond"))  # followed by `body`, `cond`, `branch_N_fun`
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"


@lru_cache(maxsize=_CACHE_SIZE)
def find_scope(op_name: str) -> str | None:
    """Return the module path inside an `op_name`, `Transformer/decoder/layers_0/mlp`.

    What tracing and differentiating added is taken off, so that the forward and the
    backward pass of a layer meet: `jit(f)` goes whole; `jvp`, `transpose`, `vmap` and their
    kin leave their argument; `while/body`, `while/cond`, `cond/branch_N_fun`, `closed_call`,
    `checkpoint`, `rematted_computation` and einsum equations go; so does the last
    component, the primitive. Where XLA merged several names, `a/x;a/y` or `(a/x:a/y)`, what
    they share is the scope. None when nothing is left, as for parameters, whose name is
    not a path.
    """
    return "/".join(_shared_start([_merged_path(name) for name in op_name.split(";")])) or None


def _merged_path(name: str) -> list[str]:
    """Read one name whose last component may stand for several: `jit(f)/(a/x:a/y)`."""
    parts = _split(name, "/")
    last = parts[-1]
    if not (last.startswith("(") and last.endswith(")")):
        return _module_path(parts)
    inner = [_module_path(_split(one, "/")) for one in _split(last[1:-1], ":")]
    return _module_path([*parts[:-1], ""]) + _shared_start(inner)


def _module_path(parts: list[str]) -> list[str]:
    """Drop the primitive and all structure from the components of one name."""
    *rest, primitive = parts
    names = [name for part in rest for name in _unwrapped(part)]
    path: list[str] = []
    for name, following in zip(names, [*names[1:], primitive], strict=False):
        if path and path[-1] in _CONTROL and _is_region(path[-1], name):
            path.pop()
        elif not (
            name in _STRUCTURE
            or "->" in name
            or (name in _CONTROL and _is_region(name, following) and following == primitive)
            or (name.startswith(f"{primitive}.") and name[len(primitive) + 1 :].isdigit())
        ):
            path.append(name)
    return path


def _is_region(control: str, name: str) -> bool:
    """Whether `name` is a part of a loop or of a conditional, as JAX calls them."""
    return name in {"body", "cond"} if control == "while" else name.startswith("branch_")


def _unwrapped(part: str) -> list[str]:
    """Take the wrappers off one component; their argument may itself be a path."""
    for _ in range(_DEEPEST):
        head, bracket, inner = part.partition("(")
        if not bracket or not inner.endswith(")"):
            return [part]
        if head in _CALLS:
            return []
        if head not in _TRANSFORMS:
            return [part]
        part = inner[:-1]
    return _split(part, "/") if "(" not in part else [part]


def _split(text: str, separator: str) -> list[str]:
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


def _shared_start(paths: list[list[str]]) -> list[str]:
    """Return the components with which all paths begin."""
    shared = paths[0]
    for path in paths[1:]:
        length = 0
        while length < min(len(shared), len(path)) and shared[length] == path[length]:
            length += 1
        shared = shared[:length]
    return shared
