"""What a CI system is told about one budget: the record that its formats are made from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal, TypeAlias

from msgspec import Struct

from hlotool.escape import escape

Status: TypeAlias = Literal["pass", "fail", "no-match", "error"]


class Outcome(Struct, frozen=True):
    """One budget in one module. `text` says what was found, `advice` what its author says.

    All of it is as the dump and the configuration have it; the formats print it escaped.

    `file` and `line` are where the user should look: a line of the program, else of the
    configuration; '' and 0 where neither is known.
    """

    rule: str
    module: str
    status: Status
    is_warning: bool
    text: str
    advice: str = ""
    file: str = ""
    line: int = 0

    @property
    def is_reported(self) -> bool:
        """Whether there is something to complain about."""
        return self.status != "pass"

    @property
    def full_text(self) -> str:
        """What was found, where, and the author's advice, which alone may have several lines."""
        where = f"{self.module}: " if self.module else ""
        advice = "\n".join(map(escape, self.advice.split("\n")))
        return escape(where + self.text) + (f" {advice}" if advice else "")


def relative_file(path: str, root: str) -> str:
    """Return a path relative to the repository, with `/`; as it is where it lies elsewhere."""
    is_windows = "\\" in path or PureWindowsPath(path).drive != ""
    pure = PureWindowsPath(path) if is_windows else PurePosixPath(path)
    base = PureWindowsPath(root) if is_windows else PurePosixPath(root)
    if root and pure.is_relative_to(base):
        return pure.relative_to(base).as_posix()
    return pure.as_posix()


def worst_first(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Sort what is to be reported: failures before warnings, else in the given order."""
    return sorted((one for one in outcomes if one.is_reported), key=lambda one: one.is_warning)
