"""One budget as written: a `[[budget]]` of a configuration, or an expression of `--budget`."""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.check.key_lines import NO_LINES, TableLines

KINDS: Final = ("expression", "metric", "forbid", "require")
LIMITS: Final = ("max", "min", "max_increase", "max_increase_abs")

Severity: TypeAlias = Literal["error", "warning"]
Limit: TypeAlias = str | int | float | None  # a number, or a text such as "8GiB" or "2%"


class BudgetTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a `[[budget]]`; None where one is not given."""

    expression: str | None = None
    metric: str | None = None
    forbid: str | None = None
    require: str | None = None
    name: str = ""
    module: str = ""
    message: str = ""
    severity: Severity = "error"
    max: Limit = None
    min: Limit = None
    max_increase: Limit = None
    max_increase_abs: Limit = None

    def __post_init__(self) -> None:
        """Raise ValueError for keys that do not go together, and for a limit that is no number."""
        kinds = [key for key in KINDS if getattr(self, key) is not None]
        limits = [key for key in LIMITS if getattr(self, key) is not None]
        for key in limits:
            limit = getattr(self, key)
            if isinstance(limit, float) and not math.isfinite(limit):
                raise ValueError(f"{key} must be a number, not {limit}")
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise ValueError(
                f"a budget needs exactly one of {', '.join(KINDS)}; this one has {found}"
            )
        if kinds == ["metric"] and not limits:
            raise ValueError(f"a metric needs a limit: one of {', '.join(LIMITS)}")
        if kinds != ["metric"] and limits:
            raise ValueError(f"{limits[0]} goes with metric, not with {kinds[0]}")

    @property
    def kind(self) -> str:
        """The one of KINDS that it has."""
        return next(key for key in KINDS if getattr(self, key) is not None)

    @property
    def text(self) -> str:
        """What it says: the expression, the metric, or `rows: condition`."""
        return str(getattr(self, self.kind))

    @property
    def title(self) -> str:
        """Its name, else what it says."""
        said = f"{self.kind} {self.text}" if self.kind in {"forbid", "require"} else self.text
        return self.name or said


class Budget(BudgetTable, frozen=True, kw_only=True):
    """One budget as written; `lines` says where, none where it came from the command line."""

    lines: TableLines = NO_LINES

    @property
    def line(self) -> int:
        """Where it begins, 0 where that is not known."""
        return self.lines.line

    def place(self, config: str, key: str) -> str:
        """Return where a key of it stands, `hlotool.toml:4`; without a file, the option."""
        return self.lines.place(config, key) or "--budget"
