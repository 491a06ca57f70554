"""The defining instruction of a used value, from its printed text alone."""

from __future__ import annotations

import re

from hlotool.errors import ParseError
from hlotool.ir.buffers import Definition, UsedValue
from hlotool.ir.opcodes import sugared_opcode
from hlotool.ir.values import Metadata
from hlotool.parse.attributes.metadata import read_metadata
from hlotool.parse.attributes.split import read_attributes
from hlotool.parse.scanner import Scanner
from hlotool.parse.shape import parse_shape

_OPCODE = re.compile(r"[a-z][\w\-]*+")


def find_definition(used: UsedValue) -> Definition | None:
    """Return opcode and metadata of `name = shape opcode(operands), attributes`.

    None where the text is not that: it repeats what the module says, and no figure hangs
    on it.
    """
    scanner = Scanner(used.source, used.start, used.end)
    try:
        scanner.expect_name("the name of the instruction")
        scanner.expect("=", "after the name")
        parse_shape(scanner)
        opcode = scanner.expect_match(_OPCODE, "an opcode")
        scanner.skip_blanks()
        if scanner.peek() != "(":
            return None
        scanner.skip_group("the operand list")
        attributes = read_attributes(used.source, scanner.pos, used.end)
    except ParseError:
        return None
    sugar = sugared_opcode(opcode)
    opcode = sugar[0] if sugar else opcode
    return Definition(opcode, read_metadata(attributes.get("metadata", "{}")) or Metadata())
