"""What became of the mutants of one test, and which of them failed?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mutant_judge import OUTCOMES, Hang, Outcome

_MOST_FAILURES = 5  # told of at once
_ALIKE = 200  # characters at the end of what is said: where they are the same, it is one failure


@dataclass(frozen=True)
class Tally:
    """How many came to which end; each failure is told once, its mutant kept in a folder."""

    folder: Path
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)

    def count(self, mutant: bytes, ending: str, told: str, ask: Callable[[], Outcome]) -> None:
        """Ask about a mutant; count what comes of it."""
        try:
            self.outcomes[ask()] += 1
        except (AssertionError, Hang, Exception) as error:  # noqa: BLE001  each is a failure
            self.outcomes["failed"] += 1
            kept = self.folder / f"failure{self.outcomes['failed']}.{ending}"
            kept.write_bytes(mutant)
            said = str(error) or repr(error)
            self.failures.setdefault(said[-_ALIKE:], f"{kept}, {told}\n{said}")

    @property
    def is_enough(self) -> bool:
        """Whether no more failures would be told of."""
        return len(self.failures) == _MOST_FAILURES

    @property
    def asked(self) -> int:
        """How many were answered or refused."""
        return sum(self.outcomes[one] for one in OUTCOMES)

    def assert_no_failure(self) -> None:
        """Tell of all failures, if there are any."""
        assert not self.failures, "\n\n".join(self.failures.values())
