"""Of which kind is a fusion, and which emitter of the backend makes it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hlotool.ir.instruction import Instruction

# Those of xla/hlo/ir/hlo_instruction.h.
KIND_MEANINGS: Final[Mapping[str, str]] = {
    "kLoop": "a fusion in which all operations run in one loop over the elements of the result",
    "kInput": "a fusion of an operation, such as a reduction, with those that make its input",
    "kOutput": "a fusion of an operation, such as a matrix product, with those that use its output",
    "kCustom": "a fusion of a kind that only the backend knows, such as a Triton kernel of GPU",
}
FUSION_KINDS: Final = frozenset(KIND_MEANINGS)


def find_kind(fusion: Instruction) -> str | None:
    """Return `kind=` as printed, kLoop and its kin; None without one."""
    return fusion.attributes.get("kind")


def find_backend_kind(fusion: Instruction) -> str | None:
    """Return the emitter that the backend chose, None where the dump does not say.

    GPU prints it as `fusion_backend_config.kind` (`__triton_gemm`), CPU as
    `fusion_config.kind`.
    """
    if "kind" not in fusion.attributes.get("backend_config", ""):
        return None
    config = fusion.backend_config()
    for key in ("fusion_backend_config", "fusion_config"):
        kind = config.find(key, "kind") if config else None
        if isinstance(kind, str) and kind:
            return kind
    return None
