"""One test that looks at many cases: a fact is one test, however many dumps show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pytest

Case = TypeVar("Case")


def for_each(cases: Iterable[Case]) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Make one test of a function that takes a case; what fails names its case.

    A case that is skipped is passed over: the others are still looked at.
    """

    def decorate(look: Callable[[Case], None]) -> Callable[[], None]:
        def test() -> None:
            for case in cases:
                try:
                    look(case)
                except pytest.skip.Exception:
                    continue
                except Exception as error:
                    name = case if isinstance(case, Path) else getattr(case, "name", case)
                    error.add_note(f"in the case {name}")
                    raise

        # Not functools.wraps: pytest would look for a fixture of the parameter's name.
        test.__name__, test.__doc__, test.__module__ = look.__name__, look.__doc__, look.__module__
        return test

    return decorate
