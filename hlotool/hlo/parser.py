"""When does Python's cyclic collector run while dumps are read?

The body of a computation: whole lines by the quick reader, all else by the descent.

One computation: its header line and its body, by whichever reader fits.

Has a module the entry that its header tells of? XLA prints it last, so a cut text has none.

Source: xla/hlo/ir/hlo_module.cc (HloModule::Print): the layout stands in the header of all that
has an entry.

A whole HLO module: header, index tables, computations.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import RLock
from typing import Final, NoReturn

from msgspec import Struct

from hlotool.errors import ParseError
from hlotool.hlo.attributes import TextReader
from hlotool.hlo.builder import Builder
from hlotool.hlo.fast_reader import LINE, LONGEST_HAND_WRITTEN, OPENING_LINE, read_lines
from hlotool.hlo.header_parser import parse_header, parse_tables
from hlotool.hlo.instruction_parser import InstructionReader
from hlotool.hlo.module import Computation, DebugInfo, Header, Instruction, Module
from hlotool.hlo.not_hlo import NO_NAMES, check_style, check_template, describe_foreign_line
from hlotool.hlo.scanner import NAME, TRUNCATED, Scanner, unquote
from hlotool.hlo.shape import DTYPE_BITS, Shape, TupleShape
from hlotool.hlo.shape_parser import ShapeCache, parse_shape
from hlotool.hlo.values import ShapeIndex
from hlotool.text import Source

_FEWEST: Final = 200_000  # objects; a module of 2.6 MB of text is 20,000 of them, and 7 MB


class _Collector:
    """How often it is paused, in all threads, and when it is due."""

    def __init__(self) -> None:
        self._lock = RLock()  # a collection may run anything, this too
        self._pauses = 0
        self._was_enabled = True
        self._made = 0  # objects, in pauses that ended since the last full collection
        self._due = _FEWEST

    def collect_if_due(self) -> None:
        """Collect everything once as many objects were made as were alive the last time.

        So it takes time in proportion to what is made, however much is kept.
        """
        with self._lock:
            is_enabled = self._was_enabled if self._pauses else gc.isenabled()
            is_due = is_enabled and self._made + _count_new() >= self._due
            if is_due:
                self._made = 0
        if is_due:
            gc.collect()
            self._due = max(_FEWEST, len(gc.get_objects()))

    def pause(self) -> None:
        """Pause it, unless another thread has."""
        with self._lock:
            if not self._pauses:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._pauses += 1

    def resume(self) -> None:
        """Let it go on, unless another thread wants it paused, or it never ran."""
        with self._lock:
            self._pauses -= 1
            if self._pauses or not self._was_enabled:
                return
            self._made += _count_new()
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _count_new() -> int:
    """Return about how many objects were made since all were last looked at, or counted as old."""
    young, middle, old = gc.get_count()
    of_young, of_middle, _ = gc.get_threshold()
    return young + of_young * (middle + of_middle * old)


_COLLECTOR: Final = _Collector()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep Python's cyclic collector from walking a structure that only grows.

    At Python's own thresholds that is an eighth of the CPU time for 3 MB of text and a third for
    100 MB. The program raises them when it starts; there it is nothing, so this is for the API.

    Nothing becomes garbage here, so all that was made may count as old at once; that is what
    freeze and unfreeze do, unless the program itself has frozen something. They also make Python
    forget how much is new, and a module holds itself in cycles. So what was made is counted here,
    and what of it nobody holds any longer is collected before another is read.
    """
    _COLLECTOR.collect_if_due()
    _COLLECTOR.pause()
    try:
        yield
    finally:
        _COLLECTOR.resume()


class BodyReader:
    """Reads the instructions of one computation, and bodies nested in them.

    `head` is where the computation's name stands, None where it has none. Without `by_line`
    the descent reads all, alone.
    """

    def __init__(
        self, builder: Builder, computation: Computation, head: int | None, *, by_line: bool
    ) -> None:
        self.builder = builder
        self.scanner = builder.scanner
        self.computation = computation
        self.defined: dict[str, Instruction] = {}
        self.head = head
        self.by_line = by_line

    @cached_property
    def descent(self) -> InstructionReader:
        """What reads an instruction that the quick reader leaves; most bodies need none."""
        return InstructionReader(
            self.builder, self.computation, self.defined, self.head, self._read_nested
        )

    def read_to_close(self) -> None:
        """Read instructions up to and over the closing brace.

        body = instruction { instruction } "}"
        """
        scanner = self.scanner
        while True:
            if self.by_line:
                self._read_lines()
            if scanner.accept_token("}"):
                break
            self.descent.read()
        if len(self.defined) != len(self.computation.instructions):  # the descent says where
            scanner.fail("a name is defined twice in this computation")

    def _read_nested(self, computation: Computation) -> None:
        BodyReader(self.builder, computation, None, by_line=self.by_line).read_to_close()

    def _read_lines(self) -> None:
        """Read whole lines as long as the quick reader can, and bodies that begin below one."""
        scanner = self.scanner
        while scanner.accept("\n"):
            scanner.pos = self._read_matches(LINE.finditer(scanner.text, scanner.pos))
            at_end = scanner.starts_with("}")
            opening = None if at_end else OPENING_LINE.match(scanner.text, scanner.pos)
            if opening is None or not self._accept_opening(opening):
                return

    def _accept_opening(self, line: re.Match[str]) -> bool:
        """Read an instruction whose attributes go on below its line, if it is one."""
        instructions = self.computation.instructions
        count = len(instructions)
        self._read_matches([line])
        if len(instructions) == count:
            return False
        self.scanner.pos = instructions[-1].start
        self.descent.read_attributes(instructions[-1])
        return True

    def _read_matches(self, lines: Iterable[re.Match[str]]) -> int:
        builder = self.builder
        return read_lines(self.computation, self.defined, builder.shapes, builder.kinds, lines)


_INSIDE = r"[^()\n\"/]++|/\*index=[0-9]++\*/"  # of parentheses
_PARENS = rf"\((?:{_INSIDE}|\((?:{_INSIDE}|\((?:{_INSIDE})*+\))*+\))*+\)"
_SIZES = r"(?=[0-9,]{0,18}\])(?:[0-9]++(?:,[0-9]++)*+)?+"  # their product fits 64 bits
_ARRAY = rf"(?:{'|'.join(DTYPE_BITS)})\[{_SIZES}\]"
_ELEMENTS = rf"{_ARRAY}(?:, (?:/\*index=[0-9]++\*/)?+{_ARRAY})*+"

# What machines print: `[ENTRY ][%]name [(parameters) -> shape ]{` and a line's end. The shape
# says nothing the root does not; a simple one is passed over, others are read all the same.
_HEADER = re.compile(
    rf"\n*+(ENTRY )?+%?+({NAME}) "
    rf"(?:{_PARENS} -> (?:{_ARRAY}|\({_ELEMENTS}\)|([^\n]*?)) )?\{{\n"
)
_ENTRY = re.compile(r"ENTRY(?=[\s%{(])")
_NAME = re.compile(NAME)


class _Head(Struct, frozen=True):
    """A computation's header; `start` is where the name stands."""

    name: str
    is_entry: bool
    start: int


def read_computation(builder: Builder) -> None:
    """Read the next computation, in the way that is fast for it.

    computation = ["ENTRY"] [name] [signature] "{" body ["," "execution_thread=" string]
    """
    scanner = builder.scanner
    start = scanner.pos
    match = _HEADER.match(scanner.text, start)
    if match is None:
        read_computation_slowly(builder)
        return
    entry, name, result = match.groups()
    if result is not None and builder.shapes.find(result) is None:
        read_computation_slowly(builder)
        return
    computation = Computation(name, builder.module, entry is not None)
    known = len(builder.module.computations)
    scanner.pos = match.end() - 1
    try:
        BodyReader(builder, computation, match.start(2), by_line=True).read_to_close()
    except ParseError:
        builder.forget_after(known)
        scanner.pos = start
        read_computation_slowly(builder)
        return
    _finish(builder, computation, match.start(2))


def read_computation_slowly(builder: Builder) -> None:
    """Do as `read_computation` without the fast reader: the authority, for tests and repair."""
    builder.scanner.depth = 0  # the fast reader may have given up in the middle of something
    head = parse_head(builder)
    computation = Computation(head.name, builder.module, head.is_entry)
    BodyReader(builder, computation, head.start, by_line=False).read_to_close()
    _finish(builder, computation, head.start)


def _finish(builder: Builder, computation: Computation, start: int) -> None:
    """Read what may follow the closing brace, and register the computation.

    trailer = ["," "execution_thread=" string]
    """
    scanner = builder.scanner
    if not scanner.starts_with("\n") and scanner.accept_token(","):
        scanner.expect("execution_thread=", "after the computation")
        computation.execution_thread = unquote(scanner.expect_string("the execution thread"))
    builder.add_computation(computation, start)


def parse_head(builder: Builder) -> _Head:
    """Read a computation's header by hand, or raise where it is none.

    head      = ["ENTRY"] [name] [signature] "{"
    signature = "(" … ")" "->" shape
    """
    scanner = builder.scanner
    scanner.skip_blanks()
    is_entry = scanner.accept_match(_ENTRY) is not None
    scanner.skip_blanks()
    start = scanner.pos
    has_percent = scanner.accept("%")
    match = scanner.accept_match(_NAME)
    scanner.skip_blanks()
    if match is None and (has_percent or not scanner.starts_with("{")):
        if scanner.starts_with("("):
            scanner.fail(NO_NAMES)
        scanner.fail_expected("a computation or the end of the file")
    if scanner.starts_with("("):
        scanner.skip_group("the parameter list of the computation")
        scanner.expect("->", "after the computation's parameters")
        parse_shape(scanner)  # says nothing the root does not
    scanner.expect("{", "before the computation's instructions")
    name = match.group() if match else builder.unique_name("computation")
    return _Head(name, is_entry, start)


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


_BOM = "\ufeff"
_COMPUTATION_AHEAD = re.compile(rf"ENTRY\s|(?:%?{NAME})?+\s*+[{{(]")


@collector_paused()
def parse_module(source: Source) -> Module:
    """Read an HLO module as text, in any style that XLA prints.

    module = ["HloModule" header tables] computation { computation }

    Attributes are split and read on first access; everything else is read here. Raises
    ParseError at the first character that is not HLO, for a text yet to be filled in, and for
    one that has not the entry its header tells of.
    """
    if len(source.text) <= LONGEST_HAND_WRITTEN:
        check_template(source)
    try:
        module = read_module(source, is_slow=False)
    except ParseError:  # the descent has the last word, and the better place
        module = _read_slowly(source)
    check_entry(module)
    return module


def _read_slowly(source: Source) -> Module:
    """Read by recursive descent alone; where it fails on a line that is no HLO, a hint says so."""
    try:
        return read_module(source, is_slow=True)
    except ParseError as error:
        error.hint = error.hint or describe_foreign_line(source.line_at(error.start))
        raise


def read_module(source: Source, *, is_slow: bool) -> Module:
    """Read a module with the fast reader where that fits, or by recursive descent alone.

    The descent is the authority, which tests compare with.
    """
    scanner = Scanner(source, len(_BOM) if source.text.startswith(_BOM) else 0)
    if scanner.at_end():
        scanner.fail("the text is empty: expected 'HloModule'")
    shapes = ShapeCache(source)
    name, header, debug_info = "", Header(), DebugInfo()
    has_header = scanner.starts_with("HloModule")
    if has_header:
        name, header = parse_header(scanner, shapes)
        debug_info = parse_tables(scanner)
    elif not _COMPUTATION_AHEAD.match(source.text, scanner.pos):
        scanner.fail_expected("'HloModule', as every HLO text dump begins")
    module = Module(name, source, TextReader(), header, debug_info)
    builder = Builder(scanner, module, shapes)
    read = read_computation_slowly if is_slow else read_computation
    while not scanner.at_end():
        read(builder)
    if not module.computations:
        scanner.fail("the module has no computations: the text ends here", hint=TRUNCATED)
    check_style(module)
    if not has_header:
        module.name = f"module_{module.entry.name}"
    return module
