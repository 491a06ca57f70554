"""The parts of a dump file's name, and what they say of the file."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from hlotool.inputs.dump.role import Role, Stage

_TIMESTAMP: Final = re.compile(r"(?:^|[._\-])[0-9]{13,}\Z")
# Which of several texts after optimization stands for the program, best first, where no
# buffer assignment names one: the last that is scheduled and has its memory spaces.
_AFTER_ORDER: Final = (
    "after_optimizations",
    "after_optimizations_after_buffer_assignment",
    "after_codegen",
    "after_optimizations_before_buffer_assignment",
)


class DumpFileName(Struct, frozen=True):
    """The parts of a dump file's name; '' and None where it has no such part."""

    prefix: str  # what stands before `module_`: a timestamp, or what a copy put there
    number: int | None  # None only for a name that XLA would not give
    name: str  # the module's; '' where XLA left it out, see `find_dump_file_name`
    build: int | None  # N of `cl_N`
    suffix: str  # from after the name to before the extension: `cpu_after_optimizations`
    role: Role
    stage: Stage | None
    step: int | None = None  # position among the per-pass dumps of a module
    pipeline: str = ""
    after_pass: str = ""
    before_pass: str = ""
    stem: str = ""  # the file name up to the companion's ending: what siblings share

    @property
    def untimed_prefix(self) -> str:
        """The prefix without XLA's timestamp: what tells copies of several dumps apart."""
        return _TIMESTAMP.sub("", self.prefix)

    @property
    def after_rank(self) -> int:
        """Rank among several texts after optimization: 0 is the one to choose."""
        begin = max(self.suffix.find("after_"), 0)
        own = self.suffix[begin:]
        return _AFTER_ORDER.index(own) if own in _AFTER_ORDER else len(_AFTER_ORDER)
