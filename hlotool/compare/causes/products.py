"""Who computes the matrix products: XLA's own code, Triton, a library?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from hlotool.analysis.fusions.kinds import find_backend_kind
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence, list_executed
from hlotool.ir import Instruction
from hlotool.ir.opcodes import MATRIX_PRODUCTS
from hlotool.program.program import Program

# By how the target of a custom call, or the backend's name of a fusion, begins.
_ENGINES: Final = (
    ("__cublas$lt", "cuBLASLt"),
    ("__cublas", "cuBLAS"),
    ("__cudnn", "cuDNN"),
    ("__onednn", "oneDNN"),
    ("__triton", "Triton"),
    ("__ynn", "YNNPACK"),
    ("__xnn", "XNNPACK"),
)


def find_products(evidence: Evidence) -> Iterator[Cause]:
    """Yield the largest move of matrix products from one engine to another."""
    left, right = _count(evidence.left), _count(evidence.right)
    fewer, more = left - right, right - left
    if not fewer or not more:
        return
    (old, gone), (new, come) = fewer.most_common(1)[0], more.most_common(1)[0]
    yield Cause(kind="products moved", count=min(gone, come), left=old, right=new)


def _count(program: Program) -> Counter[str]:
    """Count the instructions that multiply matrices by who does it."""
    engines = (_find_engine(one) for one, runs in list_executed(program) if runs)
    return Counter(engine for engine in engines if engine)


def _find_engine(one: Instruction) -> str | None:
    """Return who computes a product, None of what is none."""
    if one.opcode in MATRIX_PRODUCTS:
        return f"plain {one.opcode}"
    if one.opcode == "custom-call":
        return _name(one.attributes.get("custom_call_target", "").strip('"'))
    body = one.callee() if one.opcode == "fusion" else None
    if body is None or not any(each.opcode in MATRIX_PRODUCTS for each in body.instructions):
        return None
    return _name(find_backend_kind(one) or "") or "a fusion of XLA"


def _name(kind: str) -> str | None:
    return next((name for prefix, name in _ENGINES if kind.startswith(prefix)), None)
