"""Of which kind is a fusion, and which emitter of the backend makes it?"""

from __future__ import annotations

from typing import Final

from hlotool.ir.module import Instruction

# Those of xla/hlo/ir/hlo_instruction.cc.
FUSION_KINDS: Final = frozenset(("kLoop", "kInput", "kOutput", "kCustom"))


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
