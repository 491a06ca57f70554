"""One instruction: a node, compared with `is`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hlotool.ir.call_keys import CALL_KEYS
from hlotool.ir.groups import ReplicaGroups, Sharding
from hlotool.ir.node import Node
from hlotool.ir.opcodes import MAY_CALL
from hlotool.ir.shape import Shape
from hlotool.ir.values import (
    Alias,
    BackendConfig,
    DimLabels,
    DotDimensions,
    Metadata,
    PaddingDimension,
    SliceDimension,
    SourceLocation,
    WindowDimension,
)

if TYPE_CHECKING:  # a cycle: each leads to the others
    from hlotool.ir.computation import Computation
    from hlotool.ir.module import Module

_CALL_PLACES = {key: place for place, key in enumerate(CALL_KEYS)}


class Instruction(Node, eq=False):
    """One instruction: `%name = shape opcode(operands), attributes`.

    `literal` is the text between the parentheses of `constant(...)` and `parameter(...)`.
    The raw attributes begin at `start` in the module's source.
    """

    name: str
    shape: Shape
    opcode: str
    operands: tuple[Instruction, ...]
    computation: Computation
    literal: str = ""
    start: int = 0
    given_attributes: dict[str, str] | None = None

    @property
    def module(self) -> Module:
        """The module that holds the instruction."""
        return self.computation.module

    @property
    def full_name(self) -> str:
        """A name that no other instruction of the module has: `add.1`, `body/add.1`.

        The computation stands before it where several have an instruction of that name; the
        entry's keep theirs.
        """
        computation = self.computation
        module = computation.module
        if self.name not in module.repeated_names or computation is module.entry:
            return self.name
        return f"{computation.name}/{self.name}"

    @property
    def is_root(self) -> bool:
        """Whether this is its computation's result."""
        return self.computation.root is self

    @property
    def attributes(self) -> dict[str, str]:
        """Raw attribute text by key, in dump order; split on first access, then kept."""
        attributes = self.given_attributes
        if attributes is None:
            self.given_attributes = attributes = self.split_attributes()
        return attributes

    def plain_text(self) -> str | None:
        """Return the attributes as written, without metadata; None where they are split already."""
        if self.given_attributes is None:
            return self.computation.module.reader.plain_text(self)
        return None

    def split_attributes(self) -> dict[str, str]:
        """Return the same, not kept: for what goes through a whole module once."""
        if self.given_attributes is None:
            return self.computation.module.reader.attributes(self)
        return self.given_attributes

    @property
    def users(self) -> tuple[Instruction, ...]:
        """The instructions that have this one as an operand, each once, in dump order."""
        return self.computation.users.get(self, ())

    @property
    def parameter_number(self) -> int:
        """The N of `parameter(N)`; only for parameters."""
        return int(self.literal)

    @property
    def tuple_index(self) -> int:
        """The `index=` of a get-tuple-element; its operand has such an element."""
        return self.computation.module.reader.expect_element(self, "index")

    @property
    def channel_id(self) -> int | None:
        """The `channel_id=`, None where absent; no channel has a number below 0."""
        if "channel_id" not in self.attributes:
            return None
        number = self.computation.module.reader.expect_number(self, "channel_id")
        return None if number < 0 else number

    @property
    def custom_call_target(self) -> str:
        """The unquoted `custom_call_target=`, '' where absent."""
        return self.computation.module.reader.string(self, "custom_call_target")

    def callees(self, key: str) -> tuple[Computation, ...]:
        """Return the computations that attribute `key` names, () where absent."""
        return self.computation.module.reader.callees(self, key)

    def expect_callee(self, key: str) -> Computation:
        """Return the computation that attribute `key` names; raise where it is absent."""
        return self.computation.module.reader.expect_callee(self, key)

    def called_computations(self) -> tuple[Computation, ...]:
        """Return all computations this instruction names; a while gives condition, body."""
        if self.opcode not in MAY_CALL:
            return ()
        keys = [key for key in self.attributes if key in _CALL_PLACES]
        if len(keys) == 1:
            return self.callees(keys[0])
        keys.sort(key=_CALL_PLACES.__getitem__)
        return tuple(computation for key in keys for computation in self.callees(key))

    def callee(self) -> Computation | None:
        """Return the one computation of `calls` or `to_apply`, None without either."""
        for key in ("calls", "to_apply"):
            found = self.callees(key)
            if found:
                return found[0]
        return None

    def control_predecessors(self) -> tuple[Instruction, ...]:
        """Return what must run before for another reason than its result, () where absent."""
        if "control-predecessors" not in self.attributes:
            return ()
        computation = self.computation
        names = computation.module.reader.control_predecessors(self)
        return tuple(map(computation.by_name.__getitem__, names))

    def metadata(self) -> Metadata:
        """Return the metadata; an empty one where the dump has none."""
        return self.computation.module.reader.metadata(self)

    def source_location(self, metadata: Metadata | None = None) -> SourceLocation | None:
        """Return the user's line: as printed, else through the stack-frame tables.

        `metadata` is the instruction's own, where the caller has read it already.
        """
        metadata = metadata or self.metadata()
        if metadata.source_file:
            return SourceLocation(
                metadata.source_file,
                metadata.source_line,
                metadata.source_column,
                metadata.source_end_line,
                metadata.source_end_column,
            )
        return self.computation.module.debug_info.find_location(metadata.stack_frame_id)

    def integers(self, key: str) -> tuple[int, ...]:
        """Return an attribute `{0,1}` or `3` as integers, () where absent."""
        return self.computation.module.reader.integers(self, key)

    def replica_groups(self) -> ReplicaGroups | None:
        """Return `replica_groups=`, None where absent."""
        return self.computation.module.reader.replica_groups(self)

    def source_target_pairs(self) -> tuple[tuple[int, int], ...]:
        """Return the pairs of a collective-permute, () where absent."""
        return self.computation.module.reader.source_target_pairs(self)

    def window(self) -> tuple[WindowDimension, ...]:
        """Return `window=`, () where absent."""
        return self.computation.module.reader.window(self)

    def dim_labels(self) -> DimLabels | None:
        """Return `dim_labels=`, None where absent."""
        return self.computation.module.reader.dim_labels(self)

    def dot_dimensions(self) -> DotDimensions:
        """Return the contracting and batch dimensions of a dot."""
        return self.computation.module.reader.dot_dimensions(self)

    def slice_dimensions(self) -> tuple[SliceDimension, ...]:
        """Return `slice=`, () where absent."""
        return self.computation.module.reader.slice_dimensions(self)

    def padding(self) -> tuple[PaddingDimension, ...]:
        """Return `padding=`, () where absent."""
        return self.computation.module.reader.padding(self)

    def backend_config(self) -> BackendConfig | None:
        """Return `backend_config=`, None where absent."""
        return self.computation.module.reader.backend_config(self)

    def sharding(self) -> Sharding | None:
        """Return `sharding=`, None where absent."""
        return self.computation.module.reader.sharding(self)

    def aliasing(self) -> tuple[Alias, ...]:
        """Return `output_to_operand_aliasing=`, () where absent."""
        return self.computation.module.reader.aliasing(self)

    def frontend_attributes(self) -> Mapping[str, str]:
        """Return `frontend_attributes=` with values unquoted, empty where absent."""
        return self.computation.module.reader.frontend_attributes(self)
