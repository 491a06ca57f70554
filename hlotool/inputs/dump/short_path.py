"""How to say in a few words which of a directory's programs is meant."""

from __future__ import annotations

import os

from hlotool.inputs.dump.names import find_dump_file_name


def short_place(path: str, directory: str) -> str:
    """Return where a file lies below a directory, with XLA's number instead of its name.

    `dump/train/module_0001.jit_step.sm_9.0a_gpu_after_optimizations.txt` in `dump` is
    `train #1`; a file that XLA would not name so keeps its name.
    """
    folder, name = os.path.split(os.path.relpath(path, directory))
    found = find_dump_file_name(name)
    if found is None or found.number is None:
        return os.path.join(folder, name) if folder else name
    parts = (folder, found.origin.strip("."), f"#{found.number}")
    return " ".join(part for part in parts if part)
