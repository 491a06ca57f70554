"""Compile the trials of advice with and without their flaws, in an empty folder.

    PYTHONPATH=testdata python -m make.advice MODULE PLATFORM TOPOLOGY TARGET

XLA writes the dumps as a side effect, of functions named KIND__PROGRAM__VARIANT, the variant
`flaw`, `mended` or `quiet`; what XLA says of the memory of each is printed as one JSON document.
"""

import functools
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
from jax._src import source_info_util

from make.compile import find_devices


def list_programs(module: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the name of each program to compile, and what makes it for some devices."""
    for kind, makers in module.TRIALS.items():
        for make in makers:
            for variant in ("flaw", "mended"):
                name = f"{kind.replace('-', '_')}__{make.__name__}__{variant}"
                yield name, functools.partial(make, mended=variant == "mended")
    for make in module.QUIET:
        yield f"none__{make.__name__}__quiet", make


def main() -> None:
    """Compile each, and say what XLA says."""
    programs, *target = sys.argv[1:]
    devices = find_devices(*target)
    source_info_util.register_exclusion(__file__)
    module = importlib.import_module(f"make.programs.{programs}")
    answer = {}
    for name, make in list_programs(module):
        function, arguments, more = make(devices)

        @functools.wraps(function)
        def program(*given: Any, function: Callable[..., Any] = function) -> Any:
            return function(*given)

        program.__name__ = program.__qualname__ = name
        memory = jax.jit(program, **more).lower(*arguments).compile().memory_analysis()
        answer[name] = {
            part: getattr(memory, f"{part}_size_in_bytes")
            for part in ("argument", "output", "alias", "temp")
        }
        print(name, file=sys.stderr)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
