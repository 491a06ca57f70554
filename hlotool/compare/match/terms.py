"""What is compared: only what both prints state.

A print may leave out layouts, backend configs, control dependencies, attributes or large
constants (xla/hlo/ir/hlo_print_options.h). What one side never states cannot differ; it is
left out on both sides, and `not_compared` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from hlotool.ir import ArrayShape, Instruction, Module, Shape
from hlotool.ir.call_keys import CALL_KEYS

ELIDED: Final = "{...}"
_MOST_PRINTED: Final = 10  # elements of a constant that dumps write out

# Attributes that no print option for "extra attributes" governs.
_ALWAYS_PRINTED: Final = frozenset(
    (
        *CALL_KEYS,
        "async_execution_thread", "backend_config", "control-predecessors",
        "frontend_attributes", "metadata", "origin", "sharding", "statistics",
    )
)  # fmt: skip


class Terms(Struct, frozen=True):
    """What counts in a comparison.

    `is_strict` keeps what two builds of one program may differ in: autotuned choices,
    channel numbers, the compiler's own notes. A side that prints `{...}` for constants of
    more than ten elements is without `has_large_constants`; one that does so for all but
    whole numbers (fingerprint prints) without `has_small_constants` as well.
    """

    has_layouts: bool = True
    has_backend_configs: bool = True
    has_control_dependencies: bool = True
    has_attributes: bool = True
    has_small_constants: bool = True
    has_large_constants: bool = True
    is_strict: bool = False
    not_compared: tuple[str, ...] = ()


def agree_terms(left: Module, right: Module, *, is_strict: bool = False) -> Terms:
    """Find what both modules state; everything else is not compared."""
    here, there = _find_stated(left), _find_stated(right)
    missing = [what for what in (*_STATED, *_ELIDED) if (what in here) != (what in there)]
    elided = here | there
    return Terms(
        has_layouts="layouts" not in missing,
        has_backend_configs="backend configs" not in missing,
        has_control_dependencies="control dependencies" not in missing,
        has_attributes="attributes" not in missing,
        has_small_constants="small constants" not in elided,
        has_large_constants="large constants" not in elided,
        is_strict=is_strict,
        not_compared=tuple(missing),
    )


def _find_stated(module: Module) -> set[str]:
    """Say which of the questions below at least one instruction answers with yes.

    Of what a module's text never says, no instruction is asked.
    """
    text = module.source.text
    questions = (_STATED | _ELIDED).items()
    return {
        what
        for what, (word, is_stated) in questions
        if word in text and any(map(is_stated, _instructions(module)))
    }


def _instructions(module: Module) -> Iterator[Instruction]:
    """Yield the entry's instructions first: they mostly settle the question."""
    yield from module.entry.instructions
    yield from module.instructions()


def _has_layout(instruction: Instruction) -> bool:
    return any(leaf.layout is not None and leaf.dims for leaf in instruction.shape.leaves())


def _has_backend_config(instruction: Instruction) -> bool:
    return "backend_config" in instruction.attributes


def _has_control_dependency(instruction: Instruction) -> bool:
    return "control-predecessors" in instruction.attributes


def _has_attribute(instruction: Instruction) -> bool:
    return not _ALWAYS_PRINTED.issuperset(instruction.attributes)


def _elides_small(instruction: Instruction) -> bool:
    return _is_elided(instruction) and is_small(instruction.shape)


def _elides_large(instruction: Instruction) -> bool:
    return _is_elided(instruction) and not is_small(instruction.shape)


def _is_elided(instruction: Instruction) -> bool:
    return instruction.opcode == "constant" and ELIDED in instruction.literal


def is_small(shape: Shape) -> bool:
    """Say whether dumps write a constant of this shape out in full."""
    if not isinstance(shape, ArrayShape):
        return False
    count = shape.element_count
    return count is not None and count <= _MOST_PRINTED


# What is asked, a word without which no text says so, and who knows.
_STATED: Final = {
    "layouts": ("{", _has_layout),
    "backend configs": ("backend_config", _has_backend_config),
    "control dependencies": ("control-predecessors", _has_control_dependency),
    "attributes": ("=", _has_attribute),
}
_ELIDED: Final = {
    "small constants": (ELIDED, _elides_small),
    "large constants": (ELIDED, _elides_large),
}
