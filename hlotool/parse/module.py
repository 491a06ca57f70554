"""A whole HLO module: header, index tables, computations."""

from __future__ import annotations

import re
from collections.abc import Callable

from hlotool.errors import ParseError
from hlotool.ir.debug_info import DebugInfo
from hlotool.ir.header import Header
from hlotool.ir.module import Module
from hlotool.parse.attributes.reader import TextReader
from hlotool.parse.builder import Builder
from hlotool.parse.collector import collector_paused
from hlotool.parse.computation import read_computation, read_computation_slowly
from hlotool.parse.entry import check_entry
from hlotool.parse.foreign_lines import describe_foreign_line
from hlotool.parse.header import parse_header
from hlotool.parse.instructions.fast_lines import LONGEST_HAND_WRITTEN
from hlotool.parse.scanner import NAME, TRUNCATED, Scanner
from hlotool.parse.shape import ShapeCache
from hlotool.parse.styles import check_style
from hlotool.parse.tables import parse_tables
from hlotool.parse.templates import check_template
from hlotool.source import Source

_BOM = "\ufeff"
_COMPUTATION_AHEAD = re.compile(rf"ENTRY\s|(?:%?{NAME})?+\s*+[{{(]")


@collector_paused()
def parse_module(source: Source, watch: Callable[[int], None] | None = None) -> Module:
    """Read an HLO module as text, in any style that XLA prints.

    module = ["HloModule" header tables] computation { computation }

    Attributes are split and read on first access; everything else is read here. Raises
    ParseError at the first character that is not HLO, for a text yet to be filled in, and for
    one that has not the entry its header tells of. `watch` is called with the characters that
    were read since its last call.
    """
    if len(source.text) <= LONGEST_HAND_WRITTEN:
        check_template(source)
    try:
        module = read_module(source, is_slow=False, watch=watch)
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


def read_module(
    source: Source, *, is_slow: bool, watch: Callable[[int], None] | None = None
) -> Module:
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
        begin = scanner.pos
        read(builder)
        if watch is not None:
            watch(scanner.pos - begin)
    if not module.computations:
        scanner.fail("the module has no computations: the text ends here", hint=TRUNCATED)
    check_style(module)
    if not has_header:
        module.name = f"module_{module.entry.name}"
    return module
