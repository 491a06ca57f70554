"""Has a module the entry that its header tells of? XLA prints it last, so a cut text has none.

Source: xla/hlo/ir/hlo_module.cc (HloModule::Print): the layout stands in the header of all that
has an entry.
"""

from __future__ import annotations

from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.ir.header import Header
from hlotool.ir.instruction import Instruction
from hlotool.ir.module import Module
from hlotool.ir.shape import Shape, TupleShape
from hlotool.ir.values import ShapeIndex
from hlotool.parse.scanner import TRUNCATED

_LONGEST: Final = 200  # characters of a signature in a message
_OTHER: Final = "a part of the text is missing, or it is made of two"


def check_entry(module: Module) -> None:
    """Raise ParseError where the header promises an entry, and the text has none that fits.

    Layouts are not compared. A text without header, or with one that promises nothing, may leave
    out `ENTRY`, as hand-written ones do.
    """
    header = module.header
    promised = _describe_promise(header)
    if not promised:
        return
    if not module.entry.is_entry:
        source = module.source
        end = len(source.text.rstrip())
        message = f"the text ends before ENTRY: the header promises {promised}"
        raise ParseError(message, source, end, end + 1, TRUNCATED)
    if header.entry_parameters is not None and header.entry_result is not None:
        _check_layout(module, header.entry_parameters, header.entry_result)
    _check_aliases(module)


def _describe_promise(header: Header) -> str:
    """Say what the header tells of the entry, '' where it tells nothing."""
    if header.entry_parameters is not None and header.entry_result is not None:
        parameters = ", ".join(str(one.without_layout()) for one in header.entry_parameters)
        signature = f"({parameters}) -> {header.entry_result.without_layout()}"
        if len(signature) > _LONGEST:
            signature = f"{len(header.entry_parameters):,} parameters"
        return f"an entry computation of {signature}"
    return "an entry computation with aliases" if header.aliases or header.donors else ""


def _check_layout(module: Module, parameters: tuple[Shape, ...], result: Shape) -> None:
    """Raise where the entry has other parameters than the header says, or another result."""
    entry = module.entry
    if len(entry.parameters) != len(parameters):
        count = f"{len(parameters):,}, but ENTRY has {len(entry.parameters):,}"
        _fail(entry.root, f"the number of parameters that the header promises is {count}")
    for number, (own, promised) in enumerate(zip(entry.parameters, parameters, strict=True)):
        if own.shape != promised and own.shape.without_layout() != promised.without_layout():
            what = f"parameter {number} of ENTRY is {own.shape.without_layout()}"
            _fail(own, f"{what}, but the header promises {promised.without_layout()}")
    own_result = entry.root.shape.without_layout()
    if own_result != result.without_layout():
        what = f"the result of ENTRY is {own_result}"
        _fail(entry.root, f"{what}, but the header promises {result.without_layout()}")


def _check_aliases(module: Module) -> None:
    """Raise where an alias names a parameter or an output that the entry has not."""
    entry = module.entry
    places = [(one.number, one.index) for one in module.header.aliases]
    places += [(one.parameter, one.index) for one in module.header.donors]
    for number, index in places:
        if number >= len(entry.parameters) or not _has(entry.parameters[number].shape, index):
            _fail(
                entry.root,
                f"ENTRY has no parameter {_name(number, index)}, which the header aliases",
            )
    for alias in module.header.aliases:
        if not _has(entry.root.shape, alias.output_index):
            name = _name("", alias.output_index)
            _fail(
                entry.root, f"the result of ENTRY has no element {name}, which the header aliases"
            )


def _has(shape: Shape, index: ShapeIndex) -> bool:
    for number in index:
        if not isinstance(shape, TupleShape) or not 0 <= number < len(shape.elements):
            return False
        shape = shape.elements[number]
    return True


def _name(number: int | str, index: ShapeIndex) -> str:
    return f"{number}{{{','.join(map(str, index))}}}" if index or number == "" else str(number)


def _fail(place: Instruction, message: str) -> NoReturn:
    """Raise at the line of an instruction of the entry."""
    source, start = place.module.source, place.start
    line = source.text.rfind("\n", 0, start) + 1
    line += len(source.text[line:start]) - len(source.text[line:start].lstrip())
    raise ParseError(message, source, line, start, _OTHER)
