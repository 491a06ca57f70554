"""What does the header of a computation say of its parameters?

The parameters say it themselves, so this is read only where one of them does not.
"""

from __future__ import annotations

from hlotool.ir.shape import Shape
from hlotool.parse.scanner import Scanner
from hlotool.parse.shape import parse_shape
from hlotool.source import Source


def parse_parameter_shapes(source: Source, start: int) -> dict[str, Shape]:
    """Read the shapes of the parameters, by number; the computation's name stands at `start`.

    signature = "(" [ name ":" shape { "," name ":" shape } ] ")" "->" shape
    """
    scanner = Scanner(source, start)
    scanner.expect_name("the computation's name")
    shapes: dict[str, Shape] = {}
    if not scanner.accept_token("(") or scanner.accept_token(")"):
        return {}
    while True:
        scanner.expect_name("a parameter of the computation")
        scanner.expect(":", "after the parameter's name")
        shapes[str(len(shapes))] = parse_shape(scanner)
        if not scanner.accept_token(","):
            break
    scanner.expect(")", "or ',' after a parameter's shape")
    return shapes
