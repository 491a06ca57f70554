"""From a path to text: where the file is, its bytes, and the text they are, or why there is none.

A path is a string everywhere: `DIR/FILE`, `ARCHIVE!/MEMBER`, `gs://BUCKET/FILE`, and `-` for
standard input. Archives and compression are told by first bytes, never by names. An HLO proto is
read as the text that XLA prints of it, where the package for that is there. Each failure is a
sentence. What may be fetched and unpacked is a `ByteBudget` that each command makes once.
"""

from __future__ import annotations

import io
import mmap
import os
import sys
import zlib
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from hlotool.dump import compression
from hlotool.dump.budget import DEFAULT_BUDGET, Allowance, ByteBudget
from hlotool.dump.stores import LocalStore, Remote, RemoteStore, Store, is_address, is_pipe
from hlotool.dump.text_kind import HOW_TO_DUMP, MLIR_BYTECODE
from hlotool.errors import InputError
from hlotool.proto.kind import ProtoHead, find_proto_head, holds_assignment, is_usage_report
from hlotool.text import Source

if TYPE_CHECKING:
    from hlotool.dump.archives import ArchiveStore
    from hlotool.proto.decode import DecodedModule
    from hlotool.proto.sharding import EntryShardings

STDIN: Final = "-"


def display_name(path: str) -> str:
    """Return what a path is called in answers and messages: `<stdin>` for `-`, else itself."""
    return "<stdin>" if path == STDIN else path


def is_read_once(path: str) -> bool:
    """Whether a path can be read once only: standard input, and pipes."""
    return path == STDIN or is_pipe(path)


def read_source(path: str, budget: ByteBudget = DEFAULT_BUDGET) -> Source:
    """Read a whole file, or standard input for `-`, as text; raise InputError if it is none.

    The text of an HLO proto is what XLA prints of it.
    """
    return make_source(read_unpacked(path, budget), display_name(path))


def make_source(data: bytes, name: str) -> Source:
    """Return the text that some bytes are, unpacked; raise InputError if they are none.

    With that of a proto comes on how many devices it proves that the module runs.
    """
    if data.startswith(MLIR_BYTECODE):
        from hlotool.dump.mlir import convert_mlir  # noqa: PLC0415  most texts are dumps

        return convert_mlir(data, name)
    if (head := find_proto_head(data)) is None:
        if is_usage_report(data):
            from hlotool.proto.decode import print_usage_report  # noqa: PLC0415  start-up time

            return Source(print_usage_report(data, name), name)
        return Source(decode_text(data, name), name)
    decoded = _decode(data, head, name)
    proto = None if decoded.assignment is None else data
    return Source(decoded.print_module(name), name, counts=decoded.counts, proto=proto)


def make_assignment(data: bytes, name: str) -> Source:
    """Return the text of the buffer assignment in a proto; raise InputError if it has none."""
    if (head := find_proto_head(data)) is None:
        raise InputError(f"{name}: expected an HLO protobuf with a buffer assignment.")
    if (text := _decode(data, head, name).print_assignment(name)) is None:
        raise InputError(f"{name}: this protobuf holds a module, but no buffer assignment.")
    return Source(text, name)


def is_assignment_in(path: str, budget: ByteBudget) -> bool:
    """Whether a file is a proto that holds a buffer assignment; no where it cannot be read."""
    try:
        return holds_assignment(read_unpacked(path, budget))
    except InputError:
        return False


def read_entry_shardings(path: str, budget: ByteBudget) -> EntryShardings | None:
    """Return what a proto says of its entry's shardings; None where it cannot be read."""
    from hlotool.proto.sharding import find_entry_shardings  # noqa: PLC0415  start-up time

    try:
        return find_entry_shardings(read_unpacked(path, budget))
    except InputError:
        return None


def _decode(data: bytes, head: ProtoHead, name: str) -> DecodedModule:
    """Return the module in a proto; raise InputError if it is broken."""
    from hlotool.proto.decode import decode_module  # noqa: PLC0415  start-up time

    return decode_module(data, head, name)


def read_unpacked(path: str, budget: ByteBudget) -> bytes:
    """Read a file to its end, and undo its compression."""
    return unpack(read_bytes(path, budget), path, budget)


def unpack(data: bytes, path: str, budget: ByteBudget) -> bytes:
    """Undo the compression of what was read."""
    if compression.find_compression(data) is None:
        return data
    return compression.decompress(data, display_name(path), _allow(path, len(data), budget))


def _allow(path: str, packed_bytes: int, budget: ByteBudget) -> Allowance:
    """Return what may come of a file, or what is left of the one that it is packed in."""
    name = display_name(path)
    if path == STDIN:
        return budget.allow(name, packed_bytes)
    return choose_store(path, budget).allow(name, packed_bytes)


def read_bytes(path: str, budget: ByteBudget = DEFAULT_BUDGET) -> bytes:
    """Read a file, a pipe, or standard input to its end, once."""
    name = display_name(path)
    try:
        if path == STDIN:
            if sys.stdin is None:
                raise InputError(f"{name}: standard input is closed.")
            return sys.stdin.buffer.read()
        return choose_store(path, budget).read(path)
    except OSError as error:
        raise InputError(f"{name}: {compression.describe_error(error)}") from error
    except MemoryError as error:
        raise InputError(f"{name}: the file does not fit into memory.") from error


def read_head(path: str, limit_bytes: int, budget: ByteBudget) -> str:
    """Read the first part of a file as text, whatever follows; '' if it is not text.

    For looking at many files of a directory. Decompresses no more than it needs, opens
    regular files only, and raises InputError where nothing can be read. Of an HLO proto, which
    has to be read whole, the header line comes back.
    """
    name = display_name(path)
    try:
        with choose_store(path, budget).open(path) as file:
            data = compression.read_decompressed(file, limit_bytes, name)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: {compression.describe_error(error)}") from error
    if data.startswith(compression.UTF16_MARKS):
        return data.decode("utf-16", "replace")
    if (head := find_proto_head(data)) is not None:
        return f"{_decode(read_unpacked(path, budget), head, name).print_head()}\n"
    if compression.find_binary_kind(data) is not None:
        return ""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def decode_text(data: bytes, name: str) -> str:
    """Decode UTF-8 (or UTF-16 with its mark), without byte-order mark and CRs before LFs."""
    if not data:
        raise InputError(f"{name}: the file is empty.", HOW_TO_DUMP)
    if data.startswith(compression.UTF16_MARKS):
        text = data.decode("utf-16", "replace")
    else:
        compression.refuse_binary(data, name)
        text = _decode_utf8(data, name).removeprefix("\ufeff")
    return text.replace("\r\n", "\n") if "\r" in text else text


def _decode_utf8(data: bytes, name: str) -> str:
    """Decode, or say at which byte and line the text stops being UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        place = f"{name}:{line}:{column}"
        if error.end == len(data) and "end of data" in error.reason:
            raise InputError(
                f"{place}: the text is cut off in the middle of a character; "
                "was it copied to its end?"
            ) from error
        raise InputError(
            f"{place}: this is not UTF-8 text: byte 0x{data[error.start]:02x} at offset "
            f"{error.start}; the file is damaged, or not a text dump.",
            HOW_TO_DUMP,
        ) from error
    except MemoryError as error:
        raise InputError(f"{name}: the file does not fit into memory.") from error


_MARK: Final = "!"  # between an archive and its members: `dump.zip!/module_0001.txt`
_BELOW: Final = f"{_MARK}/"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_HEAD_BYTES: Final = 1 << 9  # of a file, to tell an archive by
_KEPT: Final = 8  # archives that are open at once
_REMOTE: Final = Remote()
# Archives from standard input or a pipe, by what their paths begin with: nobody can read them
# again, this process or another.
_READ_ONCE: Final[dict[str, ArchiveStore]] = {}


def choose_store(path: str, budget: ByteBudget = DEFAULT_BUDGET) -> Store:
    """Return the store of a path; one that exists here as it stands is local."""
    is_missing = _MARK in path and not os.path.lexists(path)
    if is_missing and (archive := _find_archive(f"{path}/", budget)) is not None:
        return archive
    return RemoteStore(_REMOTE, budget) if _is_remote(path) else LocalStore(budget)


def hide_secrets(path: str) -> str:
    """Return what the user typed as everything else may know it: an address without its secrets."""
    return _REMOTE.hide(path) if _is_remote(path) else path


def remove_copies() -> None:
    """Remove what was fetched of addresses."""
    _REMOTE.remove_copies()


def find_root(path: str, budget: ByteBudget) -> str | None:
    """Return what the paths below a directory or an archive begin with, None for a file.

    Raises InputError for an archive that is damaged, or too large.
    """
    store = choose_store(path, budget)
    try:
        if store.is_directory(path):
            return path.rstrip("/") if _is_remote(path) else path
    except (OSError, ValueError):
        return None  # who reads it says what is wrong
    return f"{path}{_MARK}" if _open_archive_at(path, budget) else None


def find_root_in(data: bytes, name: str, budget: ByteBudget) -> str | None:
    """Return what the paths of an archive that was read begin with, None if it is none."""
    root = f"{name}{_MARK}"
    if not _may_be_archive(data[:_HEAD_BYTES]):
        return None
    archive = _open_archive(name, io.BytesIO(data), budget.allow(name, len(data)))
    if archive is None:
        return None
    _READ_ONCE[root] = archive
    return root


def may_share() -> bool:
    """Whether what is read can be read by other processes as well."""
    return not _REMOTE.is_used and not _READ_ONCE


def relative_path(path: str, directory: str) -> str:
    """Return where a path lies below a directory, an archive, or an address."""
    for below in (f"{directory}{_BELOW}", f"{directory.rstrip('/')}/"):
        if (is_address(directory) or _MARK in below) and path.startswith(below):
            return path.removeprefix(below)
    return os.path.relpath(path, directory)


def _is_remote(path: str) -> bool:
    return is_address(path) and not os.path.lexists(path)


def _find_archive(path: str, budget: ByteBudget) -> ArchiveStore | None:
    """Return the archive that a path lies in."""
    position = path.find(_BELOW)
    while position >= 0:
        root = path[: position + len(_MARK)]
        archive = _READ_ONCE.get(root) or _open_archive_at(path[:position], budget)
        if archive is not None:
            return archive
        position = path.find(_BELOW, position + 1)
    return None


def _open_archive_at(path: str, budget: ByteBudget) -> ArchiveStore | None:
    """Return the archive at a path, None if there is none."""
    if choose_store(path, budget).find_size(path) is None and not _is_remote(path):
        return None  # a directory, a pipe, or nothing
    try:
        status = os.stat(path)
        signature = status.st_mtime_ns, status.st_size
    except (OSError, ValueError):
        signature = None
    return _open_known_archive(path, signature, budget)


@lru_cache(maxsize=_KEPT)
def _open_known_archive(
    path: str, _signature: tuple[int, int] | None, budget: ByteBudget
) -> ArchiveStore | None:
    """Open what may be an archive; a file of the same time and size again is the same archive."""
    try:
        with choose_store(path, budget).open(path) as file:
            if not _may_be_archive(file.read(_HEAD_BYTES)):
                return None
    except (OSError, ValueError):
        return None  # who reads it says what is wrong
    try:
        file = _map(path, budget)
        file.seek(0, os.SEEK_END)
        allowance = _allow(path, file.tell(), budget)
        file.seek(0)
        return _open_archive(path, file, allowance)
    except OSError as error:
        raise InputError(f"{path}: {compression.describe_error(error)}") from error


def _open_archive(name: str, file: BinaryIO, allowance: Allowance) -> ArchiveStore | None:
    """Return the archive in a file, None if it is none."""
    from hlotool.dump.archives import ArchiveStore, list_packed_tar, list_tar, list_zip  # noqa: PLC0415  start-up time

    try:
        head = file.read(_HEAD_BYTES)
        file.seek(0)
        if head.startswith(_ZIP):
            members = list_zip(file, allowance)
        elif compression.is_tar(head):
            members = list_tar(file)
        elif compression.is_tar(_unpack_head(file, name)):
            file.seek(0)
            members = list_packed_tar(file.read(), name, allowance)
        else:
            return None
        return ArchiveStore(f"{name}{_MARK}", members, allowance)
    except (OSError, EOFError) as error:
        raise InputError(f"{name}: {compression.describe_error(error)}") from error
    except MemoryError as error:
        raise InputError(f"{name}: the archive does not fit into memory.") from error


def _may_be_archive(head: bytes) -> bool:
    """Whether the first bytes are those of an archive, or of what is compressed."""
    return (
        head.startswith(_ZIP)
        or compression.is_tar(head)
        or compression.find_compression(head) is not None
    )


def _unpack_head(file: BinaryIO, name: str) -> bytes:
    """Return the beginning of what is compressed, b"" if it is damaged: its reader says so."""
    try:
        return compression.read_decompressed(file, _HEAD_BYTES, name)
    except (OSError, EOFError, zlib.error):
        return b""


class _Mapped(mmap.mmap):
    """A file whose place is its own in each process that comes of this one."""

    def seekable(self) -> bool:
        """Say what zipfile asks, and Python 3.12 and older do not."""
        return True


def _map(path: str, budget: ByteBudget) -> BinaryIO:
    """Return a file of which only what is read comes into memory."""
    store = choose_store(path, budget)
    if not isinstance(store, (LocalStore, RemoteStore)):
        return io.BytesIO(store.read(path))
    copy = store.fetch(path) if isinstance(store, RemoteStore) else path
    with open(copy, "rb") as file, suppress(ValueError):  # an empty file has no map
        return cast("BinaryIO", _Mapped(file.fileno(), 0, access=mmap.ACCESS_READ))
    return io.BytesIO()
