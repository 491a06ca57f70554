"""A whole HLO module as text: `parse_module` is the way in.

A computation is read by whichever reader fits: whole lines by the quick one, all else by the
descent, which has the last word. What was read is held against the header: XLA prints the entry
last (HloModule::Print, xla/hlo/ir/hlo_module.cc), so a cut text has none.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.hlo.buffers import format_position
from hlotool.hlo.fast_reader import LONGEST_HAND_WRITTEN
from hlotool.hlo.header_parser import parse_header, parse_tables, parse_thread, skip_signature
from hlotool.hlo.instruction_parser import BodyReader, Builder
from hlotool.hlo.module import Computation, DebugInfo, Header, Instruction, Module
from hlotool.hlo.not_hlo import NO_NAMES, REQUIRED, check_template, describe_foreign_line
from hlotool.hlo.scanner import NAME, TRUNCATED, Scanner
from hlotool.hlo.shape import DTYPE_BITS, Shape, find_part
from hlotool.hlo.shape_parser import ShapeCache
from hlotool.text import Source

_BOM = "\ufeff"
_COMPUTATION_AHEAD = re.compile(rf"ENTRY\s|(?:%?{NAME})?+\s*+[{{(]")

_FEWEST: Final = 200_000  # objects; a module of 2.6 MB of text is 20,000 of them, and 7 MB
# Objects, at most: 3.12 starts with some 400. A program that freezes has more, its imports alone.
_FROZEN_BY_PYTHON: Final = 1000


class _Collector:
    """Pauses of Python's cyclic collector, which all threads share."""

    def __init__(self) -> None:
        self._lock = RLock()  # a collection may run anything, this too
        self._pauses = 0
        self._was_enabled = True
        self._made = 0  # objects, in pauses that ended since the last full collection
        self._due = _FEWEST
        self._is_apart = False  # whether what was there before is frozen here

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep the collector from walking a structure that only grows.

        At Python's own thresholds that is an eighth of the CPU time for 3 MB of text and a third
        for 100 MB. Nothing becomes garbage here, so all that was made may count as old at once;
        that is what freeze and unfreeze do, unless the program itself has frozen something. They
        also make Python forget how much is new, and a module holds itself in cycles. So what was
        let go is collected before another is read: once as many objects were made as were alive
        the last time, which takes time in proportion to what is made, however much is kept.
        """
        with self._lock:
            is_enabled = self._was_enabled if self._pauses else gc.isenabled()
            is_due = is_enabled and self._made + gc.get_count()[0] >= self._due
        if is_due:
            gc.collect()
            self._made, self._due = 0, max(_FEWEST, len(gc.get_objects()))
        with self._lock:
            if not self._pauses:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._pauses += 1
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1
                if self._was_enabled and not self._pauses:
                    self._made += gc.get_count()[0]
                    if not (self._is_apart or _is_frozen()):
                        gc.freeze()
                        gc.unfreeze()
                    gc.enable()

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Collect what was read within, before another program is read.

        To walk what was there before takes longer than reading a small dump: it is frozen
        meanwhile. Of threads that read at once, the first does so.
        """
        with self._lock:
            is_first = not (self._is_apart or _is_frozen())
            if is_first:
                self._is_apart = True
                gc.freeze()
        try:
            yield
        finally:
            if is_first:
                gc.collect()
                gc.unfreeze()
                self._made, self._is_apart = 0, False


def _is_frozen() -> bool:
    """Say whether the program that reads has frozen what it holds, which shall stay so."""
    return gc.get_freeze_count() > _FROZEN_BY_PYTHON


collector: Final = _Collector()


@collector.paused()
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
        try:
            module = read_module(source, is_slow=True)
        except ParseError as error:
            error.hint = error.hint or describe_foreign_line(source.line_at(error.start))
            raise
    _check_entry(module)
    return module


def read_module(source: Source, *, is_slow: bool) -> Module:
    """Read a module with the fast reader where that fits, or by recursive descent alone.

    The descent is the authority, which tests compare with.
    """
    scanner = Scanner(source, len(_BOM) if source.text.startswith(_BOM) else 0)
    if scanner.at_end():
        scanner.fail("the text is empty: expected 'HloModule'")
    shapes = ShapeCache(source)
    name, header, debug_info = "", Header(), DebugInfo()
    if has_header := scanner.starts_with("HloModule"):
        name, header = parse_header(scanner, shapes)
        debug_info = parse_tables(scanner)
    elif source.counts is not None:
        counts = source.counts
        header = Header(replica_count=counts.replica_count, num_partitions=counts.num_partitions)
    elif not _COMPUTATION_AHEAD.match(source.text, scanner.pos):
        scanner.fail_expected("'HloModule', as every HLO text dump begins")
    module = Module(name, source, header, debug_info)
    builder = Builder(scanner, module, shapes)
    while not scanner.at_end():
        _read_computation(builder, is_slow=is_slow)
    if not module.computations:
        scanner.fail("the module has no computations: the text ends here", hint=TRUNCATED)
    _check_style(module)
    if not has_header:
        module.name = f"module_{module.entry.name}"
    return module


def _check_style(module: Module) -> None:
    """Refuse a module without the attributes that belong to opcodes, as one print style is.

    The first instruction that needs one shows the print style. A single attribute that is
    missing further on is an error where it is asked for. In a text that a hand can have written,
    what stands before that one is split as well: the descent says best what is wrong with it.
    """
    is_short = len(module.source.text) <= LONGEST_HAND_WRITTEN
    for instruction in module.instructions():
        if (key := REQUIRED.get(instruction.opcode)) is None:
            _ = instruction.attributes if is_short else None
            continue
        if key in instruction.attributes:
            return
        message = (
            f"{instruction.opcode} needs {key}=, which is missing; a text printed with "
            "print_extra_attributes off lacks it too: then dump it again with extra attributes"
        )
        raise ParseError(message, module.source, instruction.start - 1, instruction.start)


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


def _read_computation(builder: Builder, *, is_slow: bool) -> None:
    """Read the next computation by lines where that fits, else again by descent alone.

    computation = ["ENTRY"] [name] [signature] "{" body ["," "execution_thread=" string]
    """
    scanner, module = builder.scanner, builder.module
    begin, known = scanner.pos, len(module.computations)
    head = None if is_slow else _HEADER.match(scanner.text, begin)
    if head and (head[3] is None or builder.shapes.find(head[3]) is not None):
        computation, start = Computation(head[2], module, head[1] is not None), head.start(2)
        scanner.pos = head.end() - 1
        try:
            BodyReader(builder, computation, start, by_line=True).read_to_close()
        except ParseError:
            builder.forget_after(known)
            scanner.pos = begin
        else:
            computation.execution_thread = parse_thread(scanner)
            builder.add_computation(computation, start)
            return
    scanner.depth = 0  # the fast reader may have given up in the middle of something
    computation, start = _parse_head(builder)
    BodyReader(builder, computation, start, by_line=False).read_to_close()
    computation.execution_thread = parse_thread(scanner)
    builder.add_computation(computation, start)


def _parse_head(builder: Builder) -> tuple[Computation, int]:
    """Read a computation's header by hand, or raise where it is none; say where its name stands.

    head = ["ENTRY"] [name] [signature] "{"
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
    skip_signature(scanner)  # says nothing the root does not
    scanner.expect("{", "before the computation's instructions")
    name = match.group() if match else builder.unique_name("computation")
    return Computation(name, builder.module, is_entry), start


_LONGEST: Final = 200  # characters of a signature in a message
_OTHER: Final = "a part of the text is missing, or it is made of two"


def _check_entry(module: Module) -> None:
    """Raise ParseError where the header promises an entry, and the text has none that fits.

    Layouts are not compared. A text may leave out `ENTRY`, as hand-written ones do: the last
    computation is the entry then, unless the header promises another.
    """
    header = module.header
    if not (promised := _describe_promise(header)):
        return
    if not module.entry.is_entry and not _fits(module.entry, header):
        source = module.source
        end = len(source.text.rstrip())
        message = f"the text ends before ENTRY: the header promises {promised}"
        raise ParseError(message, source, end, end + 1, TRUNCATED)
    if header.entry_parameters is not None and header.entry_result is not None:
        _check_layout(module, header.entry_parameters, header.entry_result)
    _check_aliases(module)


def _fits(entry: Computation, header: Header) -> bool:
    """Whether a computation has the parameters and the result that the header promises."""
    if header.entry_parameters is None or header.entry_result is None:
        return False
    own = [one.shape.without_layout() for one in entry.parameters]
    promised = [one.without_layout() for one in header.entry_parameters]
    return own == promised and entry.root.shape.without_layout() == (
        header.entry_result.without_layout()
    )


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
    entry, header = module.entry, module.header
    places = [(one.number, one.index) for one in header.aliases]
    places += [(one.parameter, one.index) for one in header.donors]
    for number, index in places:
        shape = entry.parameters[number].shape if number < len(entry.parameters) else None
        if shape is None or find_part(shape, index) is None:
            name = format_position(str(number), index or None)
            _fail(entry.root, f"ENTRY has no parameter {name}, which the header aliases")
    for alias in header.aliases:
        if find_part(entry.root.shape, alias.output_index) is None:
            name = format_position("", alias.output_index)
            what = f"the result of ENTRY has no element {name}"
            _fail(entry.root, f"{what}, which the header aliases")


def _fail(place: Instruction, message: str) -> NoReturn:
    """Raise at the line of an instruction of the entry."""
    source, start = place.module.source, place.start
    line = source.text.rfind("\n", 0, start) + 1
    line += len(source.text[line:start]) - len(source.text[line:start].lstrip())
    raise ParseError(message, source, line, start, _OTHER)
