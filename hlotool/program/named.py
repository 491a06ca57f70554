"""Which figure or list of a program does a name such as `buffers.temp_bytes` mean?

`figures` says where each is found. Only who asks by name pays for it: it declares every answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from hlotool.analysis.memory.report import MemoryReport
from hlotool.ir import Module

_ABOUT_MEMORY: Final = frozenset(("memory", "peak_rows"))  # what needs no module


class NamedFigures(ABC):
    """What a program is to budgets and diffs: figures by the names that they have there.

    Where nothing tells of a figure, it is None. Raises what the analyses raise.
    """

    module: Module | None

    @property
    @abstractmethod
    def memory(self) -> MemoryReport | None:
        """What memory it takes, None where nothing tells."""

    def metric(self, path: str) -> object:
        """Return a metric such as `buffers.temp_bytes`, None where the dump does not tell."""
        block, _, name = path.rpartition(".")
        record = self._find(_find_block(block))
        return None if record is None else getattr(record, name)

    def bounds(self, path: str) -> tuple[bool, bool]:
        """Say whether a metric is a lower and an upper bound."""
        from hlotool.program.metrics import METRICS  # noqa: PLC0415  declares every answer

        record = self._find(_find_block(path.rpartition(".")[0]))
        is_lower = bool(getattr(record, METRICS[path].lower_flag, False))
        return is_lower, bool(getattr(record, "is_upper_bound", False))

    def knows_rows(self, path: str) -> bool:
        """Say whether the dump tells of a list at all, empty or not."""
        is_about_memory = _find_list(path).partition(".")[0] in _ABOUT_MEMORY
        return (self.memory if is_about_memory else self.module) is not None

    def rows(self, path: str) -> Sequence[object]:
        """Return the rows of a list such as `collectives`; none where the dump does not tell."""
        found: Sequence[object] = self._find(_find_list(path)) or ()
        return found

    def _find(self, place: str) -> Any:
        """Return what attributes lead to, such as `memory.figures`; None where nothing tells."""
        if self.module is None and place.partition(".")[0] not in _ABOUT_MEMORY:
            return None
        found: Any = self
        for name in place.split("."):
            found = None if found is None else getattr(found, name)
        return found


def _find_block(path: str) -> str:
    """Return where a program has a record of metrics."""
    from hlotool.program.figures import BLOCKS  # noqa: PLC0415  declares every answer; few ask

    return BLOCKS[path].found_at


def _find_list(path: str) -> str:
    """Return where a program has a list of rows."""
    from hlotool.program.figures import LISTS  # noqa: PLC0415  declares every answer; few ask

    return LISTS[path].found_at
