"""How far may a gain be trusted? Said wherever a remedy is told with what it gains."""

from __future__ import annotations

from typing import Final

GAIN_CAVEAT: Final = (
    "Gains are of this schedule and do not add up; what is compiled again mostly gains less."
)
