"""How text should look: units, width, colour; the same for every table of a document."""

from __future__ import annotations

from msgspec import Struct

_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Look(Struct, frozen=True):
    """What the terminal and the options ask of a table."""

    units: str = "auto"  # auto, B, KiB, MiB, GiB
    width: int | None = None  # columns of the terminal; None: cut nothing but long lists
    list_width: int | None = None  # where there is no width, of a scope or a list; None: all of it
    has_color: bool = False

    def bold(self, text: str) -> str:
        """Return text in bold, if there is colour."""
        return f"{_BOLD}{text}{_RESET}" if self.has_color and text else text

    def dim(self, text: str) -> str:
        """Return text in grey, if there is colour."""
        return f"{_DIM}{text}{_RESET}" if self.has_color and text else text
