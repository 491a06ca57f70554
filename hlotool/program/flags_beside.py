"""Which flags was a program compiled with? Those of the files beside its text."""

from __future__ import annotations

from collections.abc import Mapping

from hlotool.analysis.summary.compilation import Compilation, list_flags
from hlotool.errors import HlotoolError
from hlotool.inputs import DumpFile, Input, find_build, find_tpu_flags
from hlotool.parse.debug_options import parse_debug_options


def read_compilation(chosen: Input) -> Compilation:
    """Return what the files beside a program's text tell; the mesh stands in texts alone.

    A file of flags that cannot be read tells nothing: no figure depends on it.
    """
    text = chosen.module or chosen.buffers
    path = text.raw_path if text and not text.part else ""
    options, tpu_options = chosen.debug_options, find_tpu_flags(path)
    flags, tpu_flags = _read(options), _read(tpu_options)
    return Compilation(
        flags=None if flags is None else list_flags(flags),
        build=find_build(path),
        flags_path=options.path if options and flags is not None else None,
        tpu_flag_count=None if tpu_flags is None else len(tpu_flags),
        tpu_flags_path=tpu_options.path if tpu_options and tpu_flags is not None else None,
    )


def _read(file: DumpFile | None) -> Mapping[str, tuple[str, ...]] | None:
    """Return the flags of a file, None without one."""
    try:
        return parse_debug_options(file.read()) if file else None
    except HlotoolError:
        return None
