"""The fast reader and the descent say the same of every dump.

Both read it alike, or neither does: whatever else happens is a bug, as is any exception that is
no HlotoolError. `test_mutants` asks them about many injured texts, too.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dump_files import SEEDS, SHARED, TESTDATA, read_text, split_modules
from each import for_each

from hlotool.errors import HlotoolError
from hlotool.hlo import Module
from hlotool.hlo.parser import read_module
from hlotool.text import Source

# Without the second try that `parse_module` makes: it would hide what the fast reader does.
parse_module_fast = partial(read_module, is_slow=False)
parse_module_slowly = partial(read_module, is_slow=True)


def find_dumps() -> list[Path]:
    """Find every HLO text there is, in the project and beside it, each once.

    Those of the questions judge answers, and show no form that others do not.
    """
    found = split_modules(TESTDATA, SHARED / "dumps", SEEDS)
    kept = [
        path
        for path in found
        if path.parent.name != "inputs" and TESTDATA / "questions" not in path.parents
    ]
    different = {read_text(path): path for path in kept}
    return list(different.values())


DUMPS = find_dumps()
SHORT_CHARACTERS = 60_000


def list_all(module: Module) -> list[Any]:
    """List what both readers must say alike, short of typed values."""
    return [
        module.name,
        module.header,
        module.debug_info,
        *(
            (
                one.name,
                one.is_entry,
                one.execution_thread,
                one.root.name,
                [
                    (
                        each.name,
                        each.shape,
                        each.opcode,
                        [operand.name for operand in each.operands],
                        each.literal,
                        each.attributes,
                    )
                    for each in one.instructions
                ],
            )
            for one in module.computations.values()
        ),
    ]


def test_there_is_something_to_read() -> None:
    assert len([path for path in DUMPS if path.is_relative_to(TESTDATA)]) > 300


@for_each(DUMPS)
def test_short_dump(path: Path) -> None:
    check_dump(path, is_large=False)


@pytest.mark.hard
@for_each(DUMPS)
def test_large_dump(path: Path) -> None:
    check_dump(path, is_large=True)


def check_dump(path: Path, *, is_large: bool) -> None:
    source = Source(read_text(path), path.name)
    if (len(source.text) > SHORT_CHARACTERS) is not is_large:
        return
    try:
        expected = list_all(parse_module_slowly(source))
    except HlotoolError:
        with pytest.raises(HlotoolError):
            list_all(parse_module_fast(source))
    else:
        assert list_all(parse_module_fast(source)) == expected
