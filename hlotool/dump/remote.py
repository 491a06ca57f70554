"""Files at addresses: `gs://`, `s3://`, `https://`, `memory://`, whatever fsspec knows.

Each file is fetched whole and once, into a temporary folder that goes when this process ends.
fsspec's own caches are not used: before a file is fetched they ask whether it is there, and where
nobody answers they then say that it is not.
"""

from __future__ import annotations

import atexit
import importlib
import os
import re
from collections.abc import Hashable
from functools import cached_property
from types import ModuleType
from typing import Any, BinaryIO, Final

from hlotool.dump.local import Entry
from hlotool.errors import MissingPackageError

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+\-]{1,30}(?:::[^/]*)?://", re.IGNORECASE)
_PAGES: Final = re.compile(r"https?://", re.IGNORECASE)
_HTML: Final = re.compile(rb"\s*+<(?:!doctype\s++html|html)", re.IGNORECASE)
_TALKATIVE: Final = ("fsspec", "gcsfs", "s3fs")  # what fails is raised as well


def is_address(path: str) -> bool:
    """Whether a path names its protocol."""
    return _ADDRESS.match(path) is not None


class RemoteStore:
    """Files at addresses; what was fetched of them, and which there are, is remembered."""

    def __init__(self) -> None:
        self._copies: dict[str, str] = {}
        self._listings: dict[str, list[Entry] | None] = {}
        self.is_used = False  # whether anything was asked: what is kept is in this process alone

    def is_directory(self, path: str) -> bool:
        """Whether files stand below an address; of a web server, whether it lists any."""
        if _PAGES.match(path):
            return _HTML.match(self.read(path)) is not None and bool(self._find_listing(path))
        system, inside = self._resolve(path)
        try:
            return bool(system.isdir(inside))
        except Exception as error:
            raise _make_error(error) from error

    def find_size(self, path: str) -> int | None:
        """Return the size of a file that stands in a directory which can be listed."""
        folder, _, name = path.rpartition("/")
        for entry in self._find_listing(folder) or ():
            if entry.name == name and not entry.is_directory:
                return entry.size_bytes
        return None

    def list_directory(self, path: str) -> list[Entry]:
        """Return the files and directories directly below an address."""
        found = self._find_listing(path)
        if found is None:
            raise OSError("its files cannot be listed")
        return found

    def identify(self, path: str) -> Hashable:
        """Return the path: there are no links."""
        return path

    def open(self, path: str) -> BinaryIO:
        """Open a file, which is fetched whole."""
        return open(self.fetch(path), "rb")

    def read(self, path: str) -> bytes:
        """Return a whole file."""
        with self.open(path) as file:
            return file.read()

    def fetch(self, path: str) -> str:
        """Return where the copy of a file is, fetching it if that was not done yet."""
        copy = self._copies.get(path)
        if copy is None:
            system, inside = self._resolve(path)
            copy = os.path.join(self._folder, str(len(self._copies)))
            try:
                system.get_file(inside, copy)
            except Exception as error:
                raise _make_error(error) from error
            self._copies[path] = copy
        return copy

    @cached_property
    def _folder(self) -> str:
        """Where copies lie, until this process ends."""
        import shutil  # noqa: PLC0415  start-up time
        import tempfile  # noqa: PLC0415  the same

        folder = tempfile.mkdtemp(prefix="hlotool-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def _find_listing(self, path: str) -> list[Entry] | None:
        """Return what stands in a directory, None where it cannot be listed."""
        folder = path.rstrip("/")
        if folder not in self._listings:
            try:
                system, inside = self._resolve(path)
                self._listings[folder] = _list(system, inside)
            except Exception:  # noqa: BLE001  the same; who needs it says so
                self._listings[folder] = None
        return self._listings[folder]

    def _resolve(self, path: str) -> tuple[Any, str]:
        """Return fsspec's file system for an address, and what it calls the file there."""
        self.is_used = True
        fsspec = _import_fsspec(path)
        try:
            system, inside = fsspec.core.url_to_fs(path)
        except ImportError as error:
            protocol = path.partition("://")[0]
            raise MissingPackageError(
                f"{path}: reading {protocol}:// needs one more package. {error}"
            ) from error
        except Exception as error:
            raise _make_error(error) from error
        return system, inside


def _list(system: Any, inside: str) -> list[Entry]:
    """Return what a file system lists, each by the last part of its name."""
    found = []
    for each in system.ls(inside, detail=True):
        name = str(each["name"]).rstrip("/").rpartition("/")[2]
        if str(each["name"]).rstrip("/") == inside.rstrip("/") or not name or name[0] in "?#":
            continue  # the directory itself, or a link that sorts the list
        is_directory = each.get("type") == "directory"
        found.append(Entry(name, is_directory, 0 if is_directory else int(each.get("size") or 0)))
    return found


def _import_fsspec(path: str) -> ModuleType:
    """Import the optional package, or say how to get it."""
    import logging  # noqa: PLC0415  start-up time

    for name in _TALKATIVE:
        logging.getLogger(name).addHandler(logging.NullHandler())
    try:
        importlib.import_module("fsspec.core")
        return importlib.import_module("fsspec")
    except ImportError as error:
        raise MissingPackageError(
            f"{path}: reading from an address needs one more package: "
            "pip install 'hlotool[remote]'."
        ) from error


def _make_error(error: Exception) -> OSError:
    """Return what went wrong far away as an error of reading."""
    if isinstance(error, OSError):
        return error
    text = " ".join(str(error).split()) or type(error).__name__
    return OSError(f"it cannot be read ({text})")
