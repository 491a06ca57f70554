"""What is a finding? One sentence about a module, of one of few kinds."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.fields import BYTES, RowList, column, figure

FindingCode: TypeAlias = Literal[
    "contradicted-trip-count",
    "donation-copied",
    "donation-missed",
    "exposed-collective",
    "f32-collective",
    "fragmentation",
    "large-copy",
    "missed-fusion",
    "padding",
    "unknown-cost",
    "unknown-custom-call",
    "unknown-trip-count",
]
Severity: TypeAlias = Literal["info", "warning"]


class Finding(Struct, frozen=True):
    """One finding. `source` is `file:line`."""

    bytes: Annotated[
        int | None,
        column(
            "what the finding is about: traffic of one run, or memory held; null if none",
            BYTES,
            null_text="",
        ),
    ]
    severity: Annotated[
        Severity,
        column(
            "warning where something can be gained, info where something is unknown or intended"
        ),
    ]
    code: Annotated[FindingCode, column("which finding")]
    message: Annotated[str, column("the finding, as a sentence", heading="finding")]
    instruction: Annotated[
        str | None, figure("the largest instruction it is about", null_text="")
    ] = None
    source: Annotated[
        str | None, column("its line in the user's program, file:line", null_text="")
    ] = None


FINDINGS: Final = RowList(
    "findings",
    Finding,
    "what is worth a look, most bytes first",
    sort="-bytes",
    size="bytes",
    key="code",
    has_total=False,
    title="Findings",
    limit=10,
)
