"""The options of a directory of many programs: which are known already, and who reads the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from hlotool.commands.shared.request import Request
from hlotool.commands.shared.stderr import say
from hlotool.dump.read import STDIN
from hlotool.dump.remote import is_address
from hlotool.errors import UsageError
from hlotool.program.fleet import Means
from hlotool.program.program import Assumptions


class DirectoryMeans(Struct, frozen=True):
    """What the user asked of them; '' where not given."""

    cache: str = ""
    dask: str = ""

    def prepare(self, request: Request) -> Request:
        """Return the request as workers have to understand it, which run elsewhere."""
        if not self.dask or request.path == STDIN or is_address(request.path):
            return request
        return replace(request, path=os.path.abspath(request.path))  # noqa: PTH100

    def refuse(self) -> None:
        """Raise UsageError where they were given for a single program."""
        if self.cache or self.dask:
            name = "--cache" if self.cache else "--dask"
            raise UsageError(f"{name} goes with a directory; this is a single program.")

    @contextmanager
    def open(self, assumptions: Assumptions, progress: Callable[[int], None]) -> Iterator[Means]:
        """Give what programs are measured with, the cache open and the cluster at hand."""
        cache = executor = None
        with ExitStack() as stack:
            if self.cache:
                from hlotool.program.row_cache import RowCache  # noqa: PLC0415  start-up time

                cache = stack.enter_context(RowCache(self.cache))
            if self.dask:
                from hlotool.dump.workers import connect_cluster  # noqa: PLC0415  the same

                executor = stack.enter_context(connect_cluster(self.dask, say))
            yield Means(assumptions, executor, cache, progress)


def directory_options(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Give a command --cache and --dask, as `means: DirectoryMeans`."""

    @click.option(
        "--cache",
        metavar="FILE",
        default="",
        help="Of a directory: keep rows in FILE, and read only what is not there yet.",
    )
    @click.option(
        "--dask",
        metavar="ADDRESS",
        default="",
        help="Of a directory: let the workers of this Dask cluster read it.",
    )
    @wraps(function)
    def call(cache: str, dask: str, **values: Any) -> int | None:
        return function(means=DirectoryMeans(cache, dask), **values)

    decorated: Callable[..., int | None] = call
    return decorated
