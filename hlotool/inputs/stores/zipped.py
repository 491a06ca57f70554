"""Which members has a zip archive?"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, Final, Self, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

from hlotool.inputs.stores.archive import Member

_ENCRYPTED: Final = 0x1
_LINK: Final = 0xA000  # of the mode that Unix gives a file
_KIND: Final = 0xF000


def list_zip(file: BinaryIO) -> Iterator[Member]:
    """Yield the regular files of a zip; raise OSError for one that is damaged."""
    try:
        archive = ZipFile(file)
    except (BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise OSError("the zip archive is damaged or cut off") from error
    for info in archive.infolist():
        if not info.is_dir() and (info.external_attr >> 16) & _KIND != _LINK:
            yield Member(info.filename, info.file_size, partial(_open, archive, info))


def _open(archive: ZipFile, info: ZipInfo) -> BinaryIO:
    if info.flag_bits & _ENCRYPTED:
        raise OSError("the member is encrypted")
    try:
        return cast("BinaryIO", _Guarded(archive.open(info)))
    except NotImplementedError as error:
        raise OSError("the member is compressed in a way that cannot be read here") from error
    except (BadZipFile, RuntimeError, ValueError, EOFError) as error:
        raise OSError(f"the member is damaged ({error})") from error


class _Guarded:
    """A member that is open, whose errors are OSErrors."""

    def __init__(self, file: object) -> None:
        self._file = cast("BinaryIO", file)

    def read(self, size: int = -1) -> bytes:
        """Read the next part."""
        try:
            return self._file.read(size)
        except (BadZipFile, zlib.error, EOFError, ValueError, RuntimeError) as error:
            raise OSError(f"the member is damaged ({error})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
