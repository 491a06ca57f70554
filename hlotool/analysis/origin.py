"""Where in the user's program an instruction comes from: module path, source line, stack.

The module path (`scope`) is what is left of an `op_name` when the names that JAX's tracing,
differentiation and control flow added are taken off, so that the forward and the backward pass of
a layer meet: `jit(f)/transpose(jvp(head))/layer_0/dot_general` is `head/layer_0`. The readers of
names are cached, as a program has far fewer names than instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Final, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hlotool.hlo import Instruction, Module
from hlotool.table import NUMBER, column, figure
from hlotool.table.words import share_path, share_start


class Origin(Struct, frozen=True):
    """The user's name, module path and source line of an instruction; None where unknown.

    The fields are named as those of the rows that have them: `asdict` gives them to a row.
    `stack_frame` is the row of StackFrames that the line comes from.
    """

    op_name: str | None = None
    scope: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    stack_frame: int | None = None


def read_origin(instruction: Instruction, others: Iterable[Instruction] = ()) -> Origin:
    """Return where an instruction comes from.

    `op_name` is its own. Where that names no module, or the instruction has no source line,
    the first of `others` that does stands in: those inside a fusion, say.
    """
    metadata = instruction.metadata()
    op_name = metadata.op_name or None
    scope = find_scope(op_name) if op_name else None
    location = instruction.source_location(metadata)
    frame = metadata.stack_frame_id
    for other in others:
        if scope is not None and location is not None:
            break
        metadata = other.metadata()
        scope = scope or find_scope(metadata.op_name)
        if location is None:
            location, frame = other.source_location(metadata), metadata.stack_frame_id
    if location is None:
        return Origin(op_name, scope)
    return Origin(op_name, scope, location.file, location.line, frame or None)


def find_telling(instructions: Iterable[Instruction]) -> tuple[Instruction, ...]:
    """Return those of some instructions by which `read_origin` would go: at most two.

    They are the first that names a module, and the first that has a source line.
    """
    found: list[Instruction] = []
    has_scope = has_location = False
    for one in instructions:
        metadata = one.metadata()
        tells_scope = not has_scope and find_scope(metadata.op_name) is not None
        tells_location = not has_location and one.source_location(metadata) is not None
        if tells_scope or tells_location:
            found.append(one)
            has_scope, has_location = has_scope or tells_scope, has_location or tells_location
        if has_scope and has_location:
            break
    return tuple(found)


def share_origin(origins: Sequence[Origin]) -> Origin:
    """Return the first of some origins, with what the known module paths of all have in common.

    Of `decoder/layers_0/mlp` and `decoder/layers_1/mlp` that is `decoder/layers_*/mlp`.
    """
    known = [one.scope for one in origins if one.scope]
    return replace(origins[0], scope=share_path(known) if known else None)


def write_source(file: str | None, line: int | None) -> str | None:
    """Write a place in the user's program as `src/model.py:12`."""
    return f"{file}:{line}" if file is not None and line else file


def write_short_source(file: str | None, line: int | None) -> str | None:
    """Write `model.py:12`, without the directories."""
    name = file and file.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return write_source(name, line)


Stack: TypeAlias = Annotated[
    tuple[str, ...] | None,
    figure(
        "with --stack: the line and its callers, innermost first, as `file:line "
        "function`; null if unknown",
        null_text="",
        is_below=True,
    ),
]
StackFrame: TypeAlias = Annotated[
    int | None, figure("row of the text's StackFrames with the line", NUMBER, null_text="")
]
ScopeColumn: TypeAlias = Annotated[
    str | None, column("module path in the op_name, without transformations", is_path=True)
]
Row = TypeVar("Row", bound=Struct)
_frame_of: Callable[[Struct], int | None] = attrgetter("stack_frame")


def add_stacks(rows: Sequence[Row], module: Module | None) -> tuple[Row, ...]:
    """Return rows with the stack of each `stack_frame`, from the tables of the module's text."""
    if module is None:
        return tuple(rows)
    found = []
    for row in rows:
        frame = _frame_of(row)
        frames = module.debug_info.find_stack(frame) if frame else ()
        lines = (f"{one.file}:{one.line} {one.function}".rstrip() for one in frames)
        found.append(replace(row, stack=tuple(lines) or None))
    return tuple(found)


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


def is_forward(op_name: str) -> bool:
    """Whether an op_name is of the forward pass of what is differentiated."""
    return "jvp(" in op_name and not is_backward(op_name)


def is_backward(op_name: str) -> bool:
    """Whether it is of the backward pass, or of what that computes again."""
    return "transpose(" in op_name or "rematted_computation" in op_name


def shorten_op_name(op_name: str) -> str:
    """Return the module path and the primitive of an `op_name`, or the primitives it merges.

    What is no path of JAX stays as it is.
    """
    if ";" in op_name or not op_name.startswith("jit("):
        return op_name
    tails = dict.fromkeys(parts[-1] for parts in _split_merged(op_name))
    if any(":" in tail for tail in tails):
        return op_name
    return "/".join(filter(None, (find_scope(op_name), ", ".join(tails))))


def _split_merged(name: str) -> list[list[str]]:
    """Split one name; its last component may stand for several: `jit(f)/(a/x:a/y)`."""
    parts = split(name, "/")
    last = parts[-1]
    if not (last.startswith("(") and last.endswith(")")):
        return [parts]
    merged = split(last[1:-1], ":")
    # The path before the brackets is written once but spelled for each: quadratic in bad text.
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
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_TOKEN: Final = re.compile(r"""'[^']*'|"[^"]*"|[][(){}/;:'"]""")


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
    parts: list[str] = []
    start = depth = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in {"'", '"'}:  # what it opens has no end
            return pieces
        if token == separator and not depth:
            parts.append(text[start : match.start()])
            start = match.end()
        depth += (token in _OPENING) - (token in _CLOSING)
    return pieces if depth else [*parts, text[start:]]


# A step of a path in a tree of arguments: `.mu`, `[0]`, `['layers']`.
_STEP: Final = re.compile(r"\.[A-Za-z_]\w*|\[(?:'[^']*'|\"[^\"]*\"|[^\]]*)\]")
_ROOT: Final = re.compile(r"[^.\[{]+")


def find_parameter_tree(name: str) -> str | None:
    """Return the part of the arguments' tree that a parameter is in: its name's beginning.

    That is the path to its last attribute, `state.params`, `state.opt_state[0].mu`; without
    attributes to its first key, `state['mu']`. The leaf itself does not count: `batch['x']` is
    in `batch`. None where the name is no path.

    >>> find_parameter_tree("state.opt_state[0].mu['params']['head']['kernel']")
    'state.opt_state[0].mu'
    >>> find_parameter_tree("state['params']['layers'][3]['w']"), find_parameter_tree("batch['x']")
    ("state['params']", 'batch')
    """
    if (root := _ROOT.match(name)) is None:
        return None
    steps = []
    end = root.end()
    while step := _STEP.match(name, end):
        steps.append(step)
        end = step.end()
    inner = steps[:-1]
    attributes = [step for step in inner if step[0].startswith(".")]
    last = (attributes[-1:] or inner[:1] or [root])[0]
    return name[: last.end()]
