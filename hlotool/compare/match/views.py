"""How closely an instruction is looked at while partners are sought: strict to loose."""

from __future__ import annotations

from typing import Final

from hlotool.compare.match.colours import View
from hlotool.compare.match.signature import Signatures
from hlotool.ir import Instruction
from hlotool.ir.opcodes import COLLECTIVES

_CONTROL: Final = frozenset(("while", "conditional", "call"))  # whatever stands in their bodies


def list_views(signatures: Signatures, exact: View, *, has_numbers: bool) -> tuple[View, ...]:
    """List the views, strictest first; each is worked out once for an instruction.

    exact: all that counts, and the layer. shaped: opcode, dimensions, op_name, constant, and
    roughly what a fusion does. named: opcode and op_name. scoped: opcode, scope and primitive.
    sized: opcode and dimensions. kind: opcode. Without `has_numbers`, numbers of parameters do not
    count: there are more or fewer on one side.
    """
    number = signatures.table.number

    def stated(one: Instruction) -> int:
        if has_numbers or one.opcode != "parameter":
            return exact(one)
        return number(("parameter", signatures.shape(one.shape), signatures.attributes(one)))

    def layered(one: Instruction) -> int:
        tag = signatures.layers.tag(signatures.op_name(one))
        return stated(one) if tag is None else number(("layered", stated(one), tag))

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

    def surrounded(one: Instruction) -> int:
        above = [first(operand) for operand in one.operands]
        return number(("surrounded", first(one), *above, -1, *sorted(map(first, one.users))))

    first = _remembered(layered if signatures.layers.families else stated)
    return tuple(
        _remembered(view) for view in (surrounded, first, shaped, named, scoped, sized, kind)
    )


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
