"""What is a finding? One sentence about a module, of one of few kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.fields import BYTES, SECONDS, RowList, column, figure

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


# Their bytes are traffic, which takes time.
TRAFFIC: Final[frozenset[FindingCode]] = frozenset(("large-copy", "missed-fusion"))

SYNCHRONOUS_ADVICE: Final = "turn on asynchronous collectives and the latency-hiding scheduler"

# What to try, as the end of a sentence.
ADVICE: Final[Mapping[FindingCode, str]] = {
    "contradicted-trip-count": "trust no total of this loop before you know which count is right",
    "donation-copied": "keep the parameter's last use before the update, or donate another",
    "donation-missed": "donate them, as with jax.jit(donate_argnums=…)",
    "exposed-collective": "give the scheduler work that does not need the result",
    "f32-collective": "convert to 16 bits before sending",
    "fragmentation": "order allocations otherwise: smaller temporaries leave smaller gaps",
    "large-copy": "keep one layout, or write in place what is copied",
    "missed-fusion": "look for what keeps it apart: a second user, a layout, a custom call",
    "padding": "make the last two dimensions multiples of the tile",
    "unknown-cost": "read totals as lower bounds",
    "unknown-custom-call": "state the cost in the kernel, or in [[custom_call]] of hlotool.toml",
    "unknown-trip-count": "loops of known length, such as scan or fori_loop, are counted",
}


class Finding(Struct, frozen=True):
    """One finding. `source` is `file:line`; `advice` is set by `find_findings`."""

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
            "warning where something can be gained, info where something is unknown or intended",
            is_verdict=True,
            give_way=1,
        ),
    ]
    code: Annotated[FindingCode, column("which finding")]
    message: Annotated[str, column("the finding, as a sentence", is_below=True)]
    instruction: Annotated[
        str | None, column("the largest instruction it is about", null_text="")
    ] = None
    source: Annotated[
        str | None, column("its line in the user's program, file:line", null_text="")
    ] = None
    advice: Annotated[
        str, column("what to try, in half a sentence", heading="try", is_below=True)
    ] = ""
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time of it in one run: what no work hides, or traffic at the "
            "memory's peak rate; null for what takes none",
            SECONDS,
            null_text="",
        ),
    ] = None
    weighted_bytes: Annotated[
        int | None,
        figure(
            "bytes that memory moves in the time it takes: of traffic its own, of what no work "
            "hides on a link as many more as the link is slower, by --chip or the ratios of the "
            "reference chip; null for what takes none",
            BYTES,
            null_text="",
        ),
    ] = None


FINDINGS: Final = RowList(
    "findings",
    Finding,
    "what is worth a look: warnings first, most time first, by weighted_bytes, then most bytes",
    sort="-severity,-weighted_bytes,-bytes",
    size="bytes",
    key="code",
    has_total=False,
    title="Findings",
    limit=10,
)
