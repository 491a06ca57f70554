"""Scopes: which part of the user's model an instruction belongs to."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from hlotool.analysis.origin.components import Component, read_component, split
from hlotool.fields.paths import share_start

_CACHE_SIZE: Final = 1 << 16
_MOST_REPEATED: Final = 4  # components that merged names spell, for each letter written

# Components that JAX writes for control flow and rematerialization.
_REMATERIALIZED: Final = frozenset(("checkpoint", "remat", "remat2", "rematted_computation"))
_STRUCTURE: Final = _REMATERIALIZED | {
    "", "closed_call", "core_call", "custom_jvp_call", "custom_jvp_call_jaxpr",
    "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin", "shard_map", "pjit", "xla_call",
    "core_closed_call",
}  # fmt: skip
_CONTROL: Final = frozenset(("while", "cond"))  # followed by `body`, `cond`, `branch_N_fun`
# A loop, or a primitive directly in one, or in a helper of JAX: `jit(dynamic_index_in_dim)`.
_OF_LOOP: Final = re.compile(
    r"(?:^|/)while(?:\[[^\]]{0,1024}\])?(?:/(?:body|cond)(?:/jit\([^()]*\))*(?:/[^/()]+)?)?\Z"
)


def is_of_loop(op_name: str) -> bool:
    """Whether an `op_name` is that of a loop, or of what stands directly in its body.

    There are the primitives that JAX adds to a scan, `…/while/body/dynamic_slice`, and of the
    user's those in no function and scope of their own.
    """
    return all(_OF_LOOP.search(name) for name in op_name.split(";"))


@lru_cache(maxsize=_CACHE_SIZE)
def find_scope(op_name: str) -> str | None:
    """Return the module path inside an `op_name`, `Transformer/decoder/layers_0/mlp`.

    What tracing and differentiating added is taken off, so that the forward and the
    backward pass of a layer meet: `jit(f)` goes whole; `jvp`, `transpose`, `vmap` and their
    kin leave their argument; `while/body`, `while/cond`, `cond/branch_N_fun`, `closed_call`,
    `checkpoint`, `rematted_computation` and einsum equations go; so does the last
    component, the primitive. The backward pass of a rematerialized layer states its path
    twice, `transpose(jvp(layer_1))/jvp(layer_1)/checkpoint/mlp`; once stays. Where XLA
    merged several names, `a/x;a/y` or `a/(x:y)`, what they share is the scope. None when
    nothing is left, as for parameters, whose name is not a path, and where many names are merged
    behind a path so long that no module has it.
    """
    names = [parts for name in split(op_name, ";") for parts in _split_merged(name)]
    return "/".join(share_start([_Path(parts).names for parts in names])) or None


def _split_merged(name: str) -> list[list[str]]:
    """Split one name; its last component may stand for several: `jit(f)/(a/x:a/y)`."""
    parts = split(name, "/")
    last = parts[-1]
    if not (last.startswith("(") and last.endswith(")")):
        return [parts]
    merged = split(last[1:-1], ":")
    if len(merged) * len(parts) > _MOST_REPEATED * len(name):
        return [[""]]
    return [[*parts[:-1], *split(one, "/")] for one in merged]


class _Path:
    """Reads the module path, `names`, from the components of one name.

    JAX transposes a rematerialized computation equation by equation, and puts the path at
    which it does so before the whole path of the equation, counted from the same root:
    `train/transpose(jvp(model))/layer_0/train/jvp(model)/layer_0/checkpoint/mlp/dot_general`.
    Inside a loop the root is the loop's body, and nothing is wrapped again:
    `transpose(jvp(model))/while/body/closed_call/layer/layer/checkpoint/mlp/dot_general`.
    """

    def __init__(self, parts: list[str]) -> None:
        self.names: list[str] = []
        self.start = 0  # of what was traced together: the whole, or the body of a loop
        self.last_wrapped = 0  # the place of the last name at which a transformation begins
        self.is_transposed = self.is_in_loop = False
        *rest, primitive = parts
        found = [one for part in rest for one in read_component(part)]
        for one, following in zip(found, [*found, Component(primitive)][1:], strict=True):
            self._add(one, following.name, primitive)
        self._drop_repeated(is_rematerialized=primitive in _REMATERIALIZED)

    def _add(self, one: Component, following: str, primitive: str) -> None:
        name, path = one.name, self.names
        if one.is_wrapped:
            self._drop_repeated(is_rematerialized=False)
            self.last_wrapped = len(path)
            self.is_transposed |= one.is_transposed
        if len(path) > self.start and path[-1] in _CONTROL and _is_region(path[-1], name):
            path.pop()
            self.start = self.last_wrapped = len(path)
            self.is_in_loop = True
        elif name in _REMATERIALIZED:
            self._drop_repeated(is_rematerialized=True)
        elif not (
            name in _STRUCTURE
            or "->" in name
            or (name in _CONTROL and _is_region(name, following) and following == primitive)
            or (name.startswith(f"{primitive}.") and name[len(primitive) + 1 :].isdigit())
        ):
            path.append(name)

    def _drop_repeated(self, *, is_rematerialized: bool) -> None:
        """Drop the second half of what was traced together, if it is the first once more."""
        length, odd = divmod(len(self.names) - self.start, 2)
        middle = self.start + length
        if odd or not length or not self.is_transposed:
            return
        is_stated_again = self.last_wrapped >= middle or (self.is_in_loop and is_rematerialized)
        if is_stated_again and self.names[self.start : middle] == self.names[middle:]:
            del self.names[middle:]
            self.start = self.last_wrapped = middle


def _is_region(control: str, name: str) -> bool:
    """Whether `name` is a part of a loop or of a conditional, as JAX calls them."""
    return name in {"body", "cond"} if control == "while" else name.startswith("branch_")
