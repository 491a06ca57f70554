"""What a finding holds: names, units and meanings."""

from __future__ import annotations

from typing import Final

from hlotool.analysis.findings.finding import Finding
from hlotool.fields import Field, RowList, Unit

CODES: Final = (
    "donation-copied",
    "donation-missed",
    "exposed-collective",
    "f32-collective",
    "fragmentation",
    "large-copy",
    "missed-fusion",
    "padding",
    "unknown-custom-call",
    "unknown-trip-count",
)

FINDINGS: Final = RowList(
    "findings",
    Finding,
    "what is worth a look, the one about most bytes first",
    sort="-bytes",
    size="bytes",
    key="code",
    has_total=False,
    title="Findings",
    limit=10,
    fields=(
        Field(
            "bytes",
            Unit.BYTES,
            "what the finding is about: traffic of one run, or memory held; null without a figure",
            in_table=True,
            is_nullable=True,
            null_text="",
        ),
        Field(
            "severity",
            Unit.TEXT,
            "warning where something can be gained, info where something is not known or meant",
            in_table=True,
            values=("info", "warning"),
        ),
        Field("code", Unit.TEXT, "which finding", in_table=True, values=CODES),
        Field("message", Unit.TEXT, "the finding, as a sentence", heading="finding", in_table=True),
        Field(
            "instruction",
            Unit.TEXT,
            "the largest instruction it is about",
            is_nullable=True,
            null_text="",
        ),
        Field(
            "source",
            Unit.TEXT,
            "its line in the user's program, file:line",
            in_table=True,
            is_nullable=True,
            null_text="",
        ),
    ),
)
