"""`hlotool diff OLD NEW --why NAME`: what speaks for a pair of instructions."""

from __future__ import annotations

from hlotool.commands.diffing.asked import Asked
from hlotool.commands.shared.command import RowOptions, print_document
from hlotool.compare.match.two_programs import compare_structure
from hlotool.compare.pairing import Pairing
from hlotool.compare.sides import Argument, read_side
from hlotool.compare.why import DIFF_WHY, compare_partners, find_pairs
from hlotool.errors import UsageError
from hlotool.fields import Document, InputPaths, Line, quote_braces
from hlotool.ir import Instruction


def print_partners(
    pair: Pairing,
    arguments: tuple[Argument, Argument],
    name: str,
    asked: Asked,
    options: RowOptions,
) -> None:
    """Print what an instruction and its partner have in common."""
    if pair.left is None or pair.right is None:
        raise ValueError("both sides are needed")
    left, _ = read_side(pair.left, arguments[0].label)
    right, _ = read_side(pair.right, arguments[1].label)
    if not (left.program and left.module and right.program and right.module):
        raise UsageError("--why needs the text of both modules.")
    structure = compare_structure(left.program, right.program, is_strict=asked.compared.is_strict)
    labels = arguments[0].label, arguments[1].label
    pairs = find_pairs(structure, name)
    rows = [
        row for old, new in pairs if old and new for row in compare_partners(old, new, structure)
    ]
    document = Document(
        DIFF_WHY,
        InputPaths(arguments[1].path),
        rows={"evidence": rows},
        lines=tuple(Line(quote_braces(_tell(*each, labels))) for each in pairs),
    )
    print_document(document, options)


def _tell(old: Instruction | None, new: Instruction | None, labels: tuple[str, str]) -> str:
    """Name the pair."""
    left = f"{old.full_name} of {labels[0]}" if old else ""
    right = f"{new.full_name} of {labels[1]}" if new else ""
    if left and right:
        return f"{left} is {right}"
    return f"{left or right} has no partner in {labels[1] if left else labels[0]}"
