"""What does an instruction ask to read its attributes? `parse.attributes` answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from hlotool.ir.groups import ReplicaGroups, Sharding
from hlotool.ir.values import (
    Alias,
    BackendConfig,
    DimLabels,
    DotDimensions,
    Metadata,
    PaddingDimension,
    SliceDimension,
    WindowDimension,
)

if TYPE_CHECKING:
    from hlotool.ir.computation import Computation
    from hlotool.ir.instruction import Instruction


class AttributeReader(Protocol):
    """What a module asks of whoever read its text: attributes as values, on demand.

    Every method returns None (or an empty value) where the attribute is absent and raises
    ParseError, with the place, where it is malformed. Values are cached by their text.
    """

    def plain_text(self, instruction: Instruction) -> str:
        """Return the raw text of all attributes but the metadata, which differ from all others."""

    def attributes(self, instruction: Instruction) -> dict[str, str]:
        """Return the raw text of each attribute by key."""

    def expect_number(self, instruction: Instruction, key: str) -> int:
        """Return an attribute that is one integer; raise where it is absent too."""

    def expect_element(self, instruction: Instruction, key: str) -> int:
        """Return the number of an element of the operand, a tuple; raise where it has none."""

    def string(self, instruction: Instruction, key: str) -> str:
        """Return an attribute without quotes and escapes, '' where absent."""

    def callees(self, instruction: Instruction, key: str) -> tuple[Computation, ...]:
        """Return computations by name, each of which is in the module."""

    def control_predecessors(self, instruction: Instruction) -> tuple[str, ...]:
        """Return the names of instructions, each of which is in the same computation."""

    def expect_callee(self, instruction: Instruction, key: str) -> Computation:
        """Return a computation of the module by name; raise where it is absent."""

    def metadata(self, instruction: Instruction) -> Metadata:
        """Return `metadata=`."""

    def integers(self, instruction: Instruction, key: str) -> tuple[int, ...]:
        """Return an attribute `{0,1}` or `3`."""

    def replica_groups(self, instruction: Instruction) -> ReplicaGroups | None:
        """Return `replica_groups=`."""

    def source_target_pairs(self, instruction: Instruction) -> tuple[tuple[int, int], ...]:
        """Return `source_target_pairs=`."""

    def window(self, instruction: Instruction) -> tuple[WindowDimension, ...]:
        """Return `window=`."""

    def dim_labels(self, instruction: Instruction) -> DimLabels | None:
        """Return `dim_labels=`."""

    def dot_dimensions(self, instruction: Instruction) -> DotDimensions:
        """Return `lhs_contracting_dims=` and its kin."""

    def slice_dimensions(self, instruction: Instruction) -> tuple[SliceDimension, ...]:
        """Return `slice=`."""

    def padding(self, instruction: Instruction) -> tuple[PaddingDimension, ...]:
        """Return `padding=`."""

    def backend_config(self, instruction: Instruction) -> BackendConfig | None:
        """Return `backend_config=`."""

    def sharding(self, instruction: Instruction) -> Sharding | None:
        """Return `sharding=`."""

    def aliasing(self, instruction: Instruction) -> tuple[Alias, ...]:
        """Return `output_to_operand_aliasing=`."""

    def frontend_attributes(self, instruction: Instruction) -> Mapping[str, str]:
        """Return `frontend_attributes=`."""
