"""How is one of a directory's files named in a few words?"""

from __future__ import annotations

import os
import re
from typing import Final

from hlotool.inputs.dump.split_name import find_dump_file_name
from hlotool.inputs.read.text import display_name
from hlotool.inputs.stores.find import relative_path

_PROFILED: Final = re.compile(r"[^#]*\.xplane\.pb(?:\.\w+)?(#\d+)?")  # and the program in it
_PROFILES: Final = re.compile(r"(^|[/\\])plugins[/\\]profile[/\\]")  # the profiler's own folders


def short_path(path: str, directory: str) -> str:
    """Return where a file lies below a directory, with XLA's number instead of its name.

    `dump/train/module_0001.jit_step.sm_9.0a_gpu_after_optimizations.txt` in `dump` is
    `train #1`; a file that XLA would not name so keeps its name. The second module of a text
    is `#2` in that text. A program of a profile is called as the run of the profiler and by the
    program's number: `plugins/profile/2026_11_22/host.xplane.pb#12` is `2026_11_22 #12`.
    """
    file = display_name(directory)
    if path.startswith(f"{file}#"):
        return path.removeprefix(file)
    folder, name = os.path.split(relative_path(path, file))
    profiled = _PROFILED.fullmatch(name)
    if profiled:
        run = _PROFILES.sub(r"\1", f"{folder}/").rstrip("/")
        return f"{run} {profiled[1]}".strip() if profiled[1] else os.path.join(run, name)
    found = find_dump_file_name(name)
    if found is None or found.number is None:
        return os.path.join(folder, name)
    parts = (folder, found.untimed_prefix.strip("."), f"#{found.number}")
    return " ".join(part for part in parts if part)


def folder_below(path: str, directory: str) -> str:
    """Return where a program lies below a directory, without XLA's number and name.

    A file that XLA would not name so is told apart by its own name. What stands in the text that
    the directory's path names lies nowhere below it: ''.
    """
    if path == directory or path.startswith(f"{display_name(directory)}#"):
        return ""
    folder, name = os.path.split(relative_path(path, display_name(directory)))
    found = find_dump_file_name(name)
    if found is None or found.number is None:
        return os.path.join(folder, name)
    return " ".join(part for part in (folder, found.untimed_prefix.strip(".")) if part)
