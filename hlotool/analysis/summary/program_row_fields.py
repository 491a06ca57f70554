"""What the summary of a dump directory holds: one row a program."""

from __future__ import annotations

from typing import Final

from hlotool.analysis.summary.program_row import ModuleRow
from hlotool.fields import DocumentSpec, Field, RowList, Unit

MODULES: Final = RowList(
    "modules",
    ModuleRow,
    "programs, the one with most memory first",
    sort="-allocated_bytes,-instruction_count",
    size="allocated_bytes",
    key="path",
    has_total=False,
    fields=(
        Field("module", Unit.TEXT, "the module's name", in_table=True),
        Field("path", Unit.TEXT, "the text it was read from"),
        Field(
            "place",
            Unit.TEXT,
            "the same in short: below the directory, with XLA's number instead of the name",
            in_table=True,
        ),
        Field(
            "backend",
            Unit.TEXT,
            "the backend whose marks the text bears",
            in_table=True,
            is_nullable=True,
            values=("cpu", "gpu", "tpu"),
        ),
        Field(
            "stage",
            Unit.TEXT,
            "before or after optimizations",
            is_nullable=True,
            values=("before", "after"),
        ),
        Field(
            "instruction_count",
            Unit.COUNT,
            "instructions in the text",
            heading="ops",
            in_table=True,
            is_nullable=True,
        ),
        Field(
            "allocated_bytes",
            Unit.BYTES,
            "what the runtime reserves in the default memory space",
            in_table=True,
            is_nullable=True,
        ),
        Field(
            "temp_bytes",
            Unit.BYTES,
            "the part of it that is temporary",
            in_table=True,
            is_nullable=True,
        ),
        Field(
            "peak_bytes",
            Unit.BYTES,
            "the most that is occupied at once",
            in_table=True,
            is_nullable=True,
        ),
        Field(
            "collective_count",
            Unit.COUNT,
            "logical collectives",
            heading="colls",
            in_table=True,
            is_nullable=True,
        ),
        Field(
            "wire_bytes_per_run",
            Unit.BYTES,
            "bytes one device sends in one run of the entry",
            heading="wire/run",
            in_table=True,
            is_nullable=True,
        ),
        Field(
            "flops_per_run",
            Unit.FLOPS,
            "floating-point operations of one run, as XLA counts them",
            heading="flops/run",
            in_table=True,
            is_nullable=True,
        ),
        Field("is_lower_bound", Unit.FLAG, "whether flops or wire bytes miss an unknown part"),
        Field("is_upper_bound", Unit.FLAG, "whether they count what may not happen"),
        Field("error", Unit.TEXT, "why the program could not be read", is_nullable=True),
    ),
)

SUMMARY_DIRECTORY: Final = DocumentSpec(
    "summary-directory", "the programs of a dump directory", row_lists=(MODULES,)
)
