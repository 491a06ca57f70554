"""Dumps parsed once in each process that runs tests, however many tests ask about them.

What comes back is shared by all of them: it is asked, never changed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dump_files import read_text

import hlotool
from hlotool.api import Dump
from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source


@cache
def read_module(path: Path) -> Module:
    """Parse a text of a module, compressed or not."""
    return parse_module(Source(read_text(path), path.name))


@cache
def read_program(path: Path) -> Program:
    """Return the program of a text of a module, without what stands beside it."""
    return Program("", read_module(path))


@cache
def load(path: Path) -> Dump:
    """Load a dump with what stands beside it, as users do."""
    return hlotool.load(path)
