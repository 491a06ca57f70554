"""How many bytes may come of the files of a command: fetched from addresses, and unpacked.

A few packed bytes stand for any amount, and a server may send without an end. So every file has a
limit for all that comes of it, whatever it is packed in, and however often: of a compressed text in
a tar in a bucket, the bytes fetched, those of the tar and those of the text count together. A dump
of all passes, which repeats itself most, unpacks to 182 times its size.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hlotool.errors import BudgetError
from hlotool.table import Unit
from hlotool.table.units import format_value

_TIMES: Final = 1_000
_FLOOR_BYTES: Final = 256 << 20


class ByteBudget(Struct, frozen=True):
    """What `--max-unpacked` says of each file; without it, a multiple of the file's own size."""

    max_bytes: int | None = None

    def allow(self, name: str, packed_bytes: int = 0) -> Allowance:
        """Return what may come of a file of so many bytes."""
        return Allowance(name, self, packed_bytes)


class Allowance(Struct, eq=False):
    """What may come of one file, and what has come; `packed_bytes` is its own size, 0 if unknown.

    A part that is read again counts once, as nothing of it is kept: the most that was read of it.
    """

    name: str
    budget: ByteBudget
    packed_bytes: int = 0
    sizes: dict[str, int] = {}
    total_bytes: int = 0

    def count(self, part: str, size_bytes: int) -> None:
        """Say that a part, until now, came to so many bytes.

        Raises BudgetError beyond the limit; such a part no longer counts.
        """
        known = self.sizes.get(part, 0)
        if size_bytes <= known:
            return
        if (limit := self.budget.max_bytes) is None:
            limit = max(_TIMES * self.packed_bytes, _FLOOR_BYTES)
        if self.total_bytes - known + size_bytes > limit:
            self.total_bytes -= self.sizes.pop(part, 0)
            shown = format_value(limit, Unit.BYTES)
            raise BudgetError(
                f"{self.name}: this file unpacks to more than {shown}; allow more with "
                "--max-unpacked SIZE."
            )
        self.total_bytes += size_bytes - known
        self.sizes[part] = size_bytes


DEFAULT_BUDGET: Final = ByteBudget()
