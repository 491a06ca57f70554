"""What of JAX's live objects is read? Their attributes alone: JAX is never imported.

* A compiled function (`jax.stages.Compiled`): `as_text()`; the buffer assignment of
  `memory_analysis().serialized_buffer_assignment_proto`; and, to follow the ids in that,
  `runtime_executable().hlo_modules()`, each with `as_serialized_hlo_module_proto()`.
* A lowered one (`jax.stages.Lowered`) is refused: it is known by `compile()` and `compiler_ir()`.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, runtime_checkable

from msgspec.structs import replace

from hlotool.dump.files import DumpFile, Inputs, StageChoice
from hlotool.dump.find import find_inputs_in_text
from hlotool.dump.names import KINDS_OF_ROLE, Role
from hlotool.dump.protos import is_proto_readable
from hlotool.errors import UsageError
from hlotool.proto.kind import write_field

_NAME: Final = "<compiled>"
_MODULE: Final = 1  # fields of HloProto
_ASSIGNMENT: Final = 3
# What runtimes raise that keep no assignment; their own errors are RuntimeErrors.
_NOT_KNOWN: Final = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)


@runtime_checkable
class Compiled(Protocol):
    """What has a text, such as JAX's `Lowered.compile()`."""

    def as_text(self) -> str:
        """Return the module as HLO text."""


def find_inputs_in_compiled(
    compiled: Compiled, stage: StageChoice = "after", module_pattern: str | None = None
) -> Inputs:
    """Return what a compiled function holds: its text, and its buffer assignment if it has one.

    Raises UsageError for what is lowered and not compiled yet, and as `find_inputs` does.
    """
    if hasattr(compiled, "compile") and hasattr(compiled, "compiler_ir"):
        raise UsageError(
            "this function is lowered, and not compiled: there is no optimized program yet; "
            "call .compile(), and load what that returns."
        )
    found = find_inputs_in_text(compiled.as_text(), stage, module_pattern)
    data = _take_assignment(compiled) if len(found.inputs) == 1 else None
    if data is None:
        return found
    kinds = KINDS_OF_ROLE[Role.BUFFERS]
    buffers = DumpFile(_NAME, kinds, len(data), is_assignment=True, data=data)
    return replace(found, inputs=(replace(found.inputs[0], buffers=buffers),))


def _take_assignment(compiled: Any) -> bytes | None:
    """Return an HloProto of the module and its buffer assignment, None where there is none.

    Runtimes that do not keep it hand out no bytes, or raise.
    """
    if not is_proto_readable() or not hasattr(compiled, "memory_analysis"):
        return None
    try:
        assignment = compiled.memory_analysis().serialized_buffer_assignment_proto
        modules = compiled.runtime_executable().hlo_modules()
        module = modules[0].as_serialized_hlo_module_proto() if len(modules) == 1 else b""
    except _NOT_KNOWN:
        return None
    if not (isinstance(assignment, bytes) and isinstance(module, bytes) and assignment and module):
        return None
    return write_field(_MODULE, module) + write_field(_ASSIGNMENT, assignment)
