"""Which flags was a program compiled with? Those of the `.debug_options` beside its text."""

from __future__ import annotations

from hlotool.analysis.summary.compilation import Compilation, list_flags
from hlotool.errors import HlotoolError
from hlotool.inputs import Input, find_build
from hlotool.parse.debug_options import parse_debug_options


def read_compilation(chosen: Input) -> Compilation:
    """Return what the files beside a program's text tell; the mesh stands in texts alone.

    A file of flags that cannot be read tells nothing: no figure depends on it.
    """
    text = chosen.module or chosen.buffers
    build = find_build(text.raw_path) if text and not text.part else None
    options = chosen.debug_options
    if options is None:
        return Compilation(build=build)
    try:
        flags = list_flags(parse_debug_options(options.read()))
    except HlotoolError:
        return Compilation(build=build)
    return Compilation(flags=flags, build=build, flags_path=options.path)
