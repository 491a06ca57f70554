"""The declaration of a walk over the passes of a compilation: one row a pass."""

from __future__ import annotations

from typing import Final

from hlotool.diff.passes import PassRow
from hlotool.fields import DocumentSpec, Field, RowList, Unit

PASSES: Final = RowList(
    "passes",
    PassRow,
    "dumps between passes, in order; XLA dumps after those that changed something",
    has_total=False,
    limit=0, fields=(
        Field("step", Unit.NUMBER, "the number XLA gave the dump; null before and after all "
              "passes", in_table=True, is_nullable=True, null_text=""),
        Field("pass_name", Unit.TEXT, "the pass that ran last", heading="after", in_table=True),
        Field("pipeline", Unit.TEXT, "the pipeline it is part of", in_table=True),
        Field("path", Unit.TEXT, "the dump"),
        Field("what", Unit.LIST, "what differs: structure, collectives, memory; one side alone",
              heading="differs", in_table=True),
        Field("left_instruction_count", Unit.COUNT, "instructions before it, or in OLD",
              heading="before", in_table=True, is_nullable=True, null_text=""),
        Field("right_instruction_count", Unit.COUNT, "instructions after it, or in NEW",
              heading="instructions", in_table=True, is_nullable=True, null_text=""),
        Field("left_only_count", Unit.COUNT, "instructions without partner afterwards",
              heading="removed", in_table=True, is_nullable=True, null_text=""),
        Field("right_only_count", Unit.COUNT, "instructions without partner before",
              heading="added", in_table=True, is_nullable=True, null_text=""),
        Field("changed_count", Unit.COUNT, "instructions that differ from their partner",
              heading="changed", in_table=True, is_nullable=True, null_text=""),
        Field("left_collective_count", Unit.COUNT, "collectives before", is_nullable=True),
        Field("right_collective_count", Unit.COUNT, "collectives after", heading="collectives",
              in_table=True, is_nullable=True),
        Field("left_wire_bytes", Unit.BYTES, "their wire bytes a run, before", is_nullable=True),
        Field("right_wire_bytes", Unit.BYTES, "their wire bytes a run, after",
              heading="wire/run", in_table=True, is_nullable=True),
        Field("left_peak_bytes", Unit.BYTES, "estimated peak before; null while not scheduled",
              is_nullable=True),
        Field("right_peak_bytes", Unit.BYTES, "estimated peak after; null while not scheduled",
              heading="peak (estimate)", in_table=True, is_nullable=True),
    ))  # fmt: skip

DIFF_PASSES: Final = DocumentSpec(
    "diff-passes",
    "which pass changed what, or where two compilations part",
    row_lists=(PASSES,),
)
