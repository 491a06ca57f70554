"""What can be asked of a place where files are?"""

from __future__ import annotations

from collections.abc import Hashable
from typing import BinaryIO, Protocol

from msgspec import Struct


class Entry(Struct, frozen=True):
    """What stands in a directory: a regular file, or a directory."""

    name: str
    is_directory: bool
    size_bytes: int = 0  # 0 where unknown
    is_link: bool = False  # to a directory, which may be met without it


class Store(Protocol):
    """Files by their paths. What fails raises OSError, whose text is a sentence."""

    def is_directory(self, path: str) -> bool:
        """Whether a directory is there."""

    def find_size(self, path: str) -> int | None:
        """Return the size of a regular file, 0 where it is unknown, None where there is none."""

    def list_directory(self, path: str) -> list[Entry]:
        """Return what stands in a directory, in any order."""

    def identify(self, path: str) -> Hashable:
        """Return what tells a directory from every other, by whichever path it is met."""

    def open(self, path: str) -> BinaryIO:
        """Open a file for who may not read it to its end."""

    def read(self, path: str) -> bytes:
        """Return a whole file, or the beginning of one that is no text."""
