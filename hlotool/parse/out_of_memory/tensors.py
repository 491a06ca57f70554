"""Which tensor does a message of TensorFlow name: its shape, its size, and its node?"""

from __future__ import annotations

import re
from math import prod
from typing import Final

from hlotool.ir.out_of_memory import ListedBuffer, Size

_LONGEST: Final = 2000  # characters of dimensions, and of a node's name
_BYTES: Final = {"bool": 1, "half": 2, "bfloat16": 2, "float": 4, "double": 8, "complex64": 8}
_BYTES_BY_BITS: Final = re.compile(r"[a-z]+?(?P<bits>8|16|32|64|128)(?:_t)?")
# TensorFlow's names of types, as XLA writes them in shapes.
_NAMES: Final = {
    "bool": "pred",
    "half": "f16",
    "bfloat16": "bf16",
    "float": "f32",
    "double": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
_INTEGER: Final = re.compile(r"(?P<sign>u?)int(?P<bits>4|8|16|32|64)(?:_t)?")
_NODE: Final = re.compile(
    rf"\[\[(?:Node: |\{{\{{node |node )(?P<node>[^\s\]}}]{{1,{_LONGEST}}})"
    rf"|\[Op:(?P<op>\w{{1,{_LONGEST}}})"
)


def measure_tensor(dimensions: str, dtype: str) -> Size | None:
    """Return the bytes of a tensor, None where its type is unknown."""
    bits = _BYTES_BY_BITS.fullmatch(dtype)
    size = _BYTES.get(dtype) or (int(bits["bits"]) // 8 if bits else None)
    sizes = [each[:18] for each in dimensions.split(",") if each][:64]
    return None if size is None else Size(prod(map(int, sizes)) * size)


def describe_tensor(dimensions: str, dtype: str | None, size: Size | None) -> ListedBuffer:
    """Return the tensor as a buffer: `f32[64,9]`, or `[64,9]` where no type is given."""
    integer = _INTEGER.fullmatch(dtype or "")
    name = f"{'u' if integer['sign'] else 's'}{integer['bits']}" if integer else None
    written = name or _NAMES.get(dtype or "", dtype or "")
    shape = f"{written}[{dimensions[:_LONGEST]}]"
    return ListedBuffer(size.bytes if size else None, shape=shape)


def find_node(line: str) -> str | None:
    """Return the node, or else the operation, that a line names in brackets.

    node := "[[" ( "Node: " | "{{node " | "node " ) name … | "[Op:" operation
    """
    match = _NODE.search(line, 0, 1 << 20)
    return (match["node"] or match["op"]) if match else None
