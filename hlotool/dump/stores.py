"""Places where files are: this machine, and addresses such as `gs://`, `s3://`, `https://`.

What can be asked of any place is a `Store`; `archives` has the third kind. A file at an address is
fetched whole and once, into a temporary folder that goes with the command, or with this process.
fsspec's own caches are refused: before a file is fetched they ask whether it is there, and where
nobody answers they then say that it is not; and what they fetched stays. So is every protocol that
nobody asked for, such as those that run commands, or log in elsewhere.

User names, passwords and queries of addresses are secrets: `Remote.hide` takes them out of what the
user typed, before anything else knows it, and they are put back when a server is asked.
"""

from __future__ import annotations

import atexit
import errno
import importlib
import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Hashable
from contextlib import suppress
from functools import cached_property
from types import ModuleType
from typing import Any, BinaryIO, Final

from msgspec import Struct

from hlotool.dump.budget import Allowance, ByteBudget
from hlotool.errors import HlotoolError, MissingPackageError, UsageError
from hlotool.text import cut_secrets


class Entry(Struct, frozen=True):
    """What stands in a directory: a regular file, or a directory."""

    name: str
    is_directory: bool
    size_bytes: int = 0  # 0 where unknown
    is_link: bool = False  # to a directory, which may be met without it


class Store(ABC):
    """Files by their paths. What fails raises OSError, whose text is a sentence."""

    @abstractmethod
    def is_directory(self, path: str) -> bool:
        """Whether a directory is there."""

    @abstractmethod
    def find_size(self, path: str) -> int | None:
        """Return the size of a regular file, 0 where it is unknown, None where there is none."""

    @abstractmethod
    def list_directory(self, path: str) -> list[Entry]:
        """Return what stands in a directory, in any order."""

    @abstractmethod
    def open(self, path: str) -> BinaryIO:
        """Open a file for who may not read it to its end."""

    @abstractmethod
    def allow(self, path: str, packed_bytes: int) -> Allowance:
        """Return what may still come of a file, or of the archive that it lies in."""

    def identify(self, path: str) -> Hashable:
        """Return what tells a directory from every other: its path, where there are no links."""
        return path

    def read(self, path: str) -> bytes:
        """Return a whole file, or the beginning of one that is no text."""
        with self.open(path) as file:
            return file.read()


class LocalStore(Store):
    """What can be read to an end: regular files, pipes (`<(zcat x)`), and /dev/null."""

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget

    def allow(self, path: str, packed_bytes: int) -> Allowance:
        """Return what may come of a file of so many bytes."""
        return self._budget.allow(path, packed_bytes)

    def is_directory(self, path: str) -> bool:
        """Whether a directory is there."""
        return os.path.isdir(path)

    def find_size(self, path: str) -> int | None:
        """Return the size of a regular file, or of what a link leads to."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def list_directory(self, path: str) -> list[Entry]:
        """Return its regular files and directories, and links to either."""
        found = []
        with os.scandir(path or os.curdir) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    found.append(Entry(entry.name, True))
                    continue
                try:
                    if entry.is_dir():
                        found.append(Entry(entry.name, True, is_link=True))
                    elif entry.is_file():
                        found.append(Entry(entry.name, False, entry.stat().st_size))
                except OSError:
                    continue  # it went away, or its link leads round in a circle
        return found

    def identify(self, path: str) -> Hashable:
        """Return its number and that of its device."""
        status = os.stat(path or os.curdir)
        return status.st_dev, status.st_ino

    def open(self, path: str) -> BinaryIO:
        """Open a file; sockets and devices may never end, and are refused."""
        try:
            mode = os.stat(path).st_mode
        except ValueError as error:  # a NUL in the path
            raise FileNotFoundError(errno.ENOENT, "no such file") from error
        if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
            raise OSError("this is a device or a socket, not a file")
        if stat.S_ISCHR(mode) and os.path.realpath(path) != os.devnull:
            raise OSError("this is a device, not a file; give - to read standard input")
        return open(path, "rb")


def is_pipe(path: str) -> bool:
    """Whether what a path leads to can be read once only."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+\-]{1,30}(?:::[^/]*)?://")
_PAGES: Final = re.compile(r"https?://", re.IGNORECASE)
_HTML: Final = re.compile(rb"\s*+<(?:!doctype\s++html|html)", re.IGNORECASE)
_LINK: Final = re.compile(r"""<a\s[^>]*?\bhref=["']([^"'?#]+)""", re.IGNORECASE)
_PROTOCOLS: Final = ("file", "http", "https", "gs", "s3", "az", "zip", "tar", "memory")
_CHAIN: Final = "::"  # zip://step.txt::https://host/dump.zip
_WORD: Final = re.compile(r"[a-z]+")  # what fsspec takes for a protocol that nothing follows
_TALKATIVE: Final = ("fsspec", "gcsfs", "s3fs")  # what fails is raised as well


def is_address(path: str) -> bool:
    """Whether a path names its protocol."""
    return _ADDRESS.match(path) is not None


class Remote:
    """What this process knows of addresses: copies, which files there are, and their secrets."""

    def __init__(self) -> None:
        self.copies: dict[tuple[str, ByteBudget], tuple[str, Allowance]] = {}
        self.listings: dict[str, list[Entry] | None] = {}
        self.is_used = False  # whether anything was asked: what is kept is in this process alone
        self._typed: dict[str, str] = {}  # by what is shown of them
        self._users: dict[str, str] = {}  # user and password by protocol and host, as they stand

    def hide(self, address: str) -> str:
        """Return an address without user name, password and query; `reveal` knows them.

        Of several that are then alike the later ones get a number: they may be other files.
        """
        links = [_take_apart(link) for link in address.split(_CHAIN)]
        self._users.update({f"{start}{host}": user for start, user, host, _ in links if user})
        plain = _CHAIN.join(f"{start}{host}{rest}" for start, _, host, rest in links)
        shown, number = plain, 1
        while self._typed.setdefault(shown, address) != address:
            number += 1
            shown = f"{plain}?{number}"
        return shown

    def reveal(self, path: str) -> str:
        """Return an address as it was typed, or with the user of its host."""
        typed = self._typed.get(path) or self._typed.get(f"{path}/")
        if typed is not None:
            return typed
        start, _, host, rest = _take_apart(path)
        return f"{start}{self._users.get(f'{start}{host}', '')}{host}{rest}"

    def remove_copies(self) -> None:
        """Remove what was fetched; asked for again, it is fetched again."""
        import shutil  # noqa: PLC0415  start-up time

        if "folder" in vars(self):  # it was made
            shutil.rmtree(self.folder, ignore_errors=True)
            self.copies.clear()
            del self.folder

    @cached_property
    def folder(self) -> str:
        """Where copies lie, until they are removed, or this process ends."""
        import tempfile  # noqa: PLC0415  start-up time

        atexit.register(self.remove_copies)
        return tempfile.mkdtemp(prefix="hlotool-")


def _take_apart(link: str) -> tuple[str, str, str, str]:
    """Return `https://`, `user:password@`, the host, and the path without query of an address."""
    protocol, mark, rest = link.partition("://")
    authority, slash, inside = rest.partition("/")
    user, at, host = authority.rpartition("@")
    host, slash, inside = f"{host}{slash}{inside}".partition("?")[0].partition("/")
    return f"{protocol}{mark}", f"{user}{at}", host, f"{slash}{inside}"


class RemoteStore(Store):
    """Files at addresses; what was fetched of them, and which there are, is remembered."""

    def __init__(self, remote: Remote, budget: ByteBudget) -> None:
        self._remote = remote
        self._budget = budget

    def is_directory(self, path: str) -> bool:
        """Whether files stand below an address; of a web server, whether it lists any."""
        # A web server has no directories, but pages whose links may be a list of files.
        if _PAGES.match(path):
            return _HTML.match(self.read(path)) is not None and bool(self._find_listing(path))
        system, inside = self._resolve(path)
        try:
            return bool(system.isdir(inside))
        except Exception as error:
            raise _make_error(error) from error

    def find_size(self, path: str) -> int | None:
        """Return the size of a file that stands in a directory which can be listed."""
        # A listing tells of all names that a sibling may have, for the time of one question.
        folder, _, name = path.rpartition("/")
        for entry in self._find_listing(folder) or ():
            if entry.name == name and not entry.is_directory:
                return entry.size_bytes
        return None

    def list_directory(self, path: str) -> list[Entry]:
        """Return the files and directories directly below an address."""
        if (found := self._find_listing(path)) is None:
            raise OSError("its files cannot be listed")
        return found

    def open(self, path: str) -> BinaryIO:
        """Open a file, which is fetched whole."""
        return open(self.fetch(path), "rb")

    def allow(self, path: str, packed_bytes: int) -> Allowance:  # noqa: ARG002  the store's
        """Return what is left of a file that was fetched."""
        return self._fetch(path)[1]

    def fetch(self, path: str) -> str:
        """Return where the copy of a file is, fetching it if that was not done yet."""
        return self._fetch(path)[0]

    def _fetch(self, path: str) -> tuple[str, Allowance]:
        """Return the copy, and what may still come of it; of one that fails nothing is left."""
        if (found := self._remote.copies.get((path, self._budget))) is not None:
            return found
        system, inside = self._resolve(path)
        copy = os.path.join(self._remote.folder, str(len(self._remote.copies)))
        allowance = self._budget.allow(path)
        is_whole = _CHAIN not in path  # of a member, the size that is told is the unpacked one

        def count(size: int | None, value: int, **_: object) -> None:
            allowance.packed_bytes = (is_whole and size) or 0
            allowance.count("fetched", value)

        try:
            callback = importlib.import_module("fsspec.callbacks").Callback(hooks={"": count})
            system.get_file(inside, copy, callback=callback)
            if is_whole and not allowance.packed_bytes:
                allowance.packed_bytes = os.stat(copy).st_size
        except BaseException as error:
            with suppress(OSError):
                os.unlink(copy)
            if isinstance(error, HlotoolError) or not isinstance(error, Exception):
                raise
            raise _make_error(error) from error
        self._remote.copies[path, self._budget] = copy, allowance
        return copy, allowance

    def _find_listing(self, path: str) -> list[Entry] | None:
        """Return what stands in a directory, None where it cannot be listed."""
        folder = path.rstrip("/")
        listings = self._remote.listings
        if folder not in listings:
            try:
                found = self._list_page(path) if _PAGES.match(path) else _list(*self._resolve(path))
                listings[folder] = found
            except Exception:  # noqa: BLE001  whatever fsspec raises; who needs it says so
                listings[folder] = None
        return listings[folder]

    def _list_page(self, path: str) -> list[Entry]:
        """Return what the links of a page name directly below it; its bytes count like a file's."""
        from urllib.parse import urljoin  # noqa: PLC0415  start-up time

        base = f"{path.rstrip('/')}/"
        links = _LINK.findall(self.read(path).decode("utf-8", "replace"))
        names = sorted({urljoin(base, each).removeprefix(base) for each in links})
        below = filter(re.compile("[^/]+/?").fullmatch, names)
        return [Entry(one.rstrip("/"), one.endswith("/")) for one in below]

    def _resolve(self, path: str) -> tuple[Any, str]:
        """Return fsspec's file system for an address, and what it calls the file there."""
        _expect_protocols(path)
        self._remote.is_used = True
        fsspec = _import_fsspec(path)
        try:
            system, inside = fsspec.core.url_to_fs(self._remote.reveal(path))
        except ImportError as error:
            protocol = path.partition("://")[0]
            raise MissingPackageError(
                f"{path}: reading {protocol}:// needs one more package. {error}"
            ) from error
        except Exception as error:
            raise _make_error(error) from error
        return system, inside


def _expect_protocols(path: str) -> None:
    """Raise UsageError for an address, or a link of a chain of them, that is not read."""
    for link in path.split(_CHAIN):
        protocol, mark, _ = link.partition("://")
        if (mark or _WORD.fullmatch(link)) and protocol.lower() not in _PROTOCOLS:
            known = ", ".join(_PROTOCOLS)
            raise UsageError(f"{path}: {protocol}:// is not read; hlotool reads {known}.")


def _list(system: Any, inside: str) -> list[Entry]:
    """Return what a file system lists, each by the last part of its name."""
    found = []
    for each in system.ls(inside, detail=True):
        path = str(each["name"]).rstrip("/")
        name = path.rpartition("/")[2]
        if path == inside.rstrip("/") or not name:
            continue  # the directory itself
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
    """Return what went wrong far away as an error of reading, without the secrets in it."""
    if isinstance(error, OSError) and cut_secrets(str(error)) == str(error):
        return error
    if isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError)):
        return type(error)(error.errno, error.strerror)
    text = " ".join(cut_secrets(str(error)).split()) or type(error).__name__
    return OSError(f"it cannot be read ({text})")
