"""How does a file come to be whole, or else stay as it was?

What is written stands beside the file until all of it is on the disk, and then takes its place.
What is no regular file, such as `/dev/stdout` or a pipe, is written as it stands.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from hlotool.dump.read import display_name
from hlotool.errors import UsageError

_OPEN_FILES: Final = ("/dev", "/proc")  # where links name what a process has open


def write_file(path: str, text: Iterable[str], option: str) -> None:
    """Write the text of a file; otherwise as `write_data`."""
    write_data(path, (piece.encode("utf-8", "backslashreplace") for piece in text), option)


def write_data(path: str, data: Iterable[bytes], option: str) -> None:
    """Write a file whole; raise UsageError, with the option's name, and leave it as it was."""
    with _told(path, option):
        target = _find_target(path)
        if target is None:
            _write_directly(path, data, "wb")
            return
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is read-only")
        _replace(target, data)


def add_to_file(path: str, text: str, option: str, accept: Callable[[bytes], None]) -> None:
    """Add text to the end of a file, whole or not at all; a missing file is made.

    `accept` looks at what the file holds, and raises what it finds wrong. Of several processes
    each waits until the one before it is done. Raises UsageError, with the option's name.
    """
    data = text.encode("utf-8", "backslashreplace")
    with _told(path, option):
        target = _find_target(path)
        if target is None:
            _write_directly(path, (data,), "ab")
            return
        with _open_alone(target) as file:
            old = file.read()
            accept(old)
            _replace(target, (old, b"\n" * (old[-1:] not in {b"", b"\n"}), data))


@contextmanager
def _told(path: str, option: str) -> Iterator[None]:
    """Put what the system says of a file into a sentence."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{option} {display_name(path)}: {error.strerror}.") from error
    except ValueError as error:  # a path that no system has
        raise UsageError(f"{option} {display_name(path)}: {error}.") from error


def _find_target(path: str) -> Path | None:
    """Return the regular file that a path leads to, or will; None where it is another thing.

    `/dev/stdout` is none even where it leads to a file: others write to that, too.
    """
    place = Path(path)
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(place.stat().st_mode):
            return None
    while place.is_symlink():
        folder = place.parent.resolve()
        if any(folder.is_relative_to(each) for each in _OPEN_FILES):
            return None
        place = folder / place.readlink()
    return place.resolve()


def _write_directly(path: str, data: Iterable[bytes], mode: str) -> None:
    with open(path, mode) as file:  # noqa: PTH123  the mode is no literal
        file.writelines(data)


def _replace(target: Path, data: Iterable[bytes]) -> None:
    """Write beside a file and rename; an old file's permissions stay."""
    beside = target.with_name(f".hlotool-{os.urandom(6).hex()}.tmp")
    try:
        with beside.open("xb") as file:
            file.writelines(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def _open_alone(target: Path) -> Iterator[BinaryIO]:
    """Open a file that no other process has so opened; it may be replaced meanwhile."""
    import fcntl  # noqa: PLC0415  only histories need it

    while True:
        with open(os.open(target, os.O_RDWR | os.O_CREAT, 0o666), "rb") as file:  # noqa: PTH123
            fcntl.flock(file, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), target.stat()):
                    yield file
                    return
