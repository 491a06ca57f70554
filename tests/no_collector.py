"""How is work timed without Python's cyclic collector?"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collector() -> Iterator[None]:
    """Keep the collector off, and collect afterwards what was made inside.

    What other tests have left, a gigabyte at times, is never walked: it is frozen meanwhile.
    """
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.enable()
        gc.unfreeze()
