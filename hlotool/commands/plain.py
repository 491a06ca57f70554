"""Command lines so plain that nothing has to read them.

Importing click and declaring a command's options takes as long as reading a megabyte of
dump; scripts that call hlotool for each of a thousand dumps use this form. Everything else
is for click, and the tests hold both to one answer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

_COMPLETION: Final = "_HLOTOOL_COMPLETE"  # by which a shell asks click for completions


def find_plain(arguments: Sequence[str]) -> Callable[[], int] | None:
    """Return what answers a plain command line with its exit code, None for any other.

    plain = "summary" path { "--json" }, in any order behind the command; a path that begins
    with "-" is none
    """
    if arguments[:1] != ["summary"] or _COMPLETION in os.environ or sys.platform == "win32":
        return None  # on Windows click expands patterns
    paths = [one for one in arguments[1:] if one != "--json"]
    if len(paths) != 1 or paths[0].startswith("-"):
        return None
    from hlotool.commands.request import Request  # noqa: PLC0415  start-up time
    from hlotool.commands.row_options import RowOptions  # noqa: PLC0415
    from hlotool.commands.summary_answer import answer_summary  # noqa: PLC0415

    form = "json" if "--json" in arguments else "table"
    return partial(answer_summary, Request(paths[0]), RowOptions(format=form))
