"""How closely an instruction is looked at while partners are sought: strict to loose."""

from __future__ import annotations

from typing import Final

from hlotool.compare.match.colours import View
from hlotool.compare.match.signature import Signatures
from hlotool.ir import Instruction
from hlotool.ir.opcodes import COLLECTIVES

_CONTROL: Final = frozenset(("while", "conditional", "call"))  # whatever stands in their bodies


def list_views(signatures: Signatures, exact: View) -> tuple[View, ...]:
    """List the views, strictest first; each is worked out once for an instruction.

    exact: all that counts, and the layer. shaped: opcode, dimensions, op_name, constant, and
    roughly what a fusion does. named: opcode and op_name. scoped: opcode, scope and primitive.
    sized: opcode and dimensions. kind: opcode.
    """
    number = signatures.table.number

    def layered(one: Instruction) -> int:
        tag = signatures.layers.tag(signatures.op_name(one))
        return exact(one) if tag is None else number(("layered", exact(one), tag))

    def shaped(one: Instruction) -> int:
        constant = one.literal if one.opcode == "constant" else ""
        dims = signatures.dims(one.shape)
        body = 0 if one.opcode in _CONTROL else signatures.body(one)
        return number(("shaped", family(one), dims, body, constant, signatures.op_name(one)))

    def named(one: Instruction) -> int:
        return number(("named", family(one), signatures.op_name(one)))

    def scoped(one: Instruction) -> int:
        return number(("scoped", family(one), signatures.origin(one)))

    def sized(one: Instruction) -> int:
        return number(("sized", family(one), signatures.dims(one.shape)))

    def kind(one: Instruction) -> int:
        return number(("kind", family(one)))

    first = layered if signatures.layers.families else exact
    return tuple(_remembered(view) for view in (first, shaped, named, scoped, sized, kind))


def family(instruction: Instruction) -> str:
    """Return the opcode; for the asynchronous start of an operation that operation's."""
    opcode = instruction.opcode
    if opcode == "async-start":
        callee = instruction.callee()
        return callee.root.opcode if callee else opcode
    if opcode == "copy-start":
        return "copy"
    plain = opcode.removesuffix("-start")
    return plain if plain in COLLECTIVES else opcode


def _remembered(view: View) -> View:
    known: dict[Instruction, int] = {}

    def remembered(one: Instruction) -> int:
        number = known.get(one)
        if number is None:
            number = known[one] = view(one)
        return number

    return remembered
