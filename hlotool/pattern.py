"""Regular expressions of the user's, searched in time linear in the text.

RE2 does it; on `(a+)+$` and `a.*a.*a.*b` Python's own engine may take years. This is the one place
that knows google-re2.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

_MOST_KEPT: Final = 512  # compiled patterns


class PatternError(Exception):
    """A text that is no regular expression, and why."""


class Pattern(Struct, frozen=True):
    """A regular expression, known to be one; it travels between processes as its text."""

    text: str

    def is_found(self, subject: str) -> bool:
        """Say whether a text has a part that the pattern matches."""
        return _compile(self.text).search(_encode(subject)) is not None


def parse_pattern(text: str) -> Pattern:
    """Return a pattern in the syntax of RE2: Python's without backreferences and look-around.

    Raises PatternError where the text is none.
    """
    _compile(text)
    return Pattern(text)


@lru_cache(maxsize=_MOST_KEPT)
def _compile(text: str) -> Any:
    import re2  # noqa: PLC0415  most commands are called without a pattern

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_encode(text), options)
    except re2.error as error:
        (reason,) = error.args
        raise PatternError(
            reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        ) from None


def _encode(text: str) -> bytes:
    """Return UTF-8; half a surrogate pair, which it has not, is as good as any odd character."""
    return text.encode("utf-8", "replace")
