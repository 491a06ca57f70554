"""Regular expressions that are compiled when they are first used.

A summary imports a hundred patterns, meets a third of them and is done in the time that
compiling all of them would cost twice over. What every line of a dump meets is compiled
with `re.compile`, where a match is a little quicker.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Final

_METHODS: Final = ("match", "fullmatch", "search", "sub", "findall", "finditer", "split", "pattern")


class _Later:
    """Takes the place of a pattern; its attributes are the pattern's, from the first use on."""

    __slots__ = ("_flags", "_text", *_METHODS)

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile, and fill the attributes, which are empty until then."""
        compiled = re.compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def compile_later(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Do as `re.compile`, but at the first use; a mistake in the text shows only then."""
    pattern: Any = _Later(text, flags)
    return pattern  # type: ignore[no-any-return]
