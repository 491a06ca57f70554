"""What stands in the header line of a module text, for who reads no more of it?"""

from __future__ import annotations

from hlotool.errors import InputError
from hlotool.inputs.dump.files import DumpFile
from hlotool.inputs.read.module_head import HEAD_BYTES, LONG_HEAD_BYTES
from hlotool.inputs.read.text_kind import TextKind, detect_kind


def read_header_line(file: DumpFile) -> str:
    """Return the first line of the module, '' where there is none to read.

    Who reads the whole file gets the error.
    """
    try:
        text = file.head(HEAD_BYTES)
        detection = detect_kind(text)
        if detection.kind is not TextKind.MODULE:
            return ""
        if text.find("\n", detection.begin) < 0:
            text = file.head(LONG_HEAD_BYTES)
    except InputError:
        return ""
    end = text.find("\n", detection.begin)
    return text[detection.begin : end if end >= 0 else len(text)]
