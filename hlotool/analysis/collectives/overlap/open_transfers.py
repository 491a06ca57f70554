"""Which of the transfers under way does a stretch of work hide?

Transfers on one network share its links, so that each second of work hides at most one of them:
the one that started first, until all of it is hidden, then the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from hlotool.analysis.collectives.overlap.overlap_work import OverlapWork
from hlotool.analysis.cost.chips import Chip


class Claim:
    """A transfer under way: how many seconds of work hide all of it, and how many do hide it.

    `need_seconds` is None where nobody knows. `is_sure` tells whether `hidden_seconds` are all
    that hide it, and not the least; either way it is hidden where they reach the need.
    """

    def __init__(self, need_seconds: Fraction | None) -> None:
        self.need_seconds = need_seconds
        self.hidden_seconds = Fraction()
        self.is_sure = True
        self.is_closed = False

    @property
    def is_hidden(self) -> bool:
        """Whether work hides all of it."""
        return self.need_seconds is not None and self.hidden_seconds >= self.need_seconds

    def take(self, seconds: Fraction) -> Fraction:
        """Take what is needed of some seconds of work, and return how much that is."""
        part = seconds
        if self.need_seconds is not None:
            part = min(seconds, self.need_seconds - self.hidden_seconds)
        self.hidden_seconds += part
        return part


class OpenTransfers:
    """The transfers of one network that are under way and not hidden yet, in order of start.

    Where the time of work, or what a transfer needs, is unknown, the transfers behind may be
    hidden by more than they are given: they are no longer sure. As transfers join at the end,
    those that are not sure stand in front.
    """

    def __init__(self, chip: Chip) -> None:
        self._chip = chip
        self._open: dict[Claim, None] = {}

    def open(self, claim: Claim) -> None:
        """Let a transfer begin, unless nothing is left to hide; one that has ended is unsure."""
        if claim.is_closed:
            claim.is_sure = False
        elif not claim.is_hidden:
            self._open[claim] = None

    def close(self, claim: Claim) -> None:
        """Let a transfer end."""
        claim.is_closed = True
        self._open.pop(claim, None)

    def give(self, work: OverlapWork, carried: Iterable[Claim] = ()) -> Fraction:
        """Let work hide what it carries itself, then the others, and return the seconds taken."""
        carried = tuple(carried)
        if not (carried or self._open):
            return Fraction()
        left = spare = work.spare_seconds(self._chip)
        for claim in carried:
            left -= self._hide(claim, left)
        while left and self._open:
            claim = next(iter(self._open))
            left -= self._hide(claim, left)
            if claim.is_hidden:
                del self._open[claim]
        if work.unknown_count:
            for claim in carried:
                claim.is_sure = False
            self._doubt()
        return spare - left

    def _hide(self, claim: Claim, seconds: Fraction) -> Fraction:
        taken = claim.take(seconds)
        if taken and (not claim.is_sure or claim.need_seconds is None):
            self._doubt()
        return taken

    def _doubt(self) -> None:
        """Take none of those that are open for sure any longer."""
        for claim in reversed(self._open):
            if not claim.is_sure:
                break
            claim.is_sure = False
