"""The fast reader and the descent say the same of every text: of dumps, and of many mutants.

A text is one that both read alike, attributes and typed values included, or that neither
reads: whatever else happens is a bug, as is any exception that is no HlotoolError.
"""

from __future__ import annotations

import re
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from described import describe_module
from dump_files import SEEDS, SHARED, TESTDATA, find_modules, read_text
from mutants import mutate

from hlotool.errors import HlotoolError
from hlotool.ir import Module
from hlotool.parse.module import read_module
from hlotool.source import Source

FEW, MANY = 4_000, 100_000  # mutants; `make mutants` tries the many

# Without the second try that `parse_module` makes: it would hide what the fast reader does.
parse_module_fast = partial(read_module, is_slow=False)
parse_module_slowly = partial(read_module, is_slow=True)


COMPUTATION = re.compile(r"^%\S+ \(.*\{\n(?:  .*\n){2,9}\}\n", re.MULTILINE)


def find_dumps() -> list[Path]:
    """Find every HLO text there is, in the project and beside it, each once."""
    found = find_modules(TESTDATA, SHARED / "dumps", SEEDS)
    different = {path.read_bytes(): path for path in found if path.parent.name != "inputs"}
    return list(different.values())


def list_bases() -> list[tuple[str, str]]:
    """List small texts to injure: every form, and some computations of real dumps."""
    forms = sorted((TESTDATA / "hlo_forms").glob("*.txt"))
    bases = [(path.stem, path.read_bytes().decode()) for path in forms]
    for path in sorted((TESTDATA / "hlo").glob("*.txt")):
        computations = COMPUTATION.findall(path.read_text(encoding="utf-8"))
        alone = [text for text in computations if not re.search(r"=%|\w+=\{%", text)]
        bases += [(f"{path.stem}.{number}", text) for number, text in enumerate(alone[::9][:8])]
    return bases


DUMPS = find_dumps()
BASES = list_bases()


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
    assert len(BASES) > 40


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: "/".join(path.parts[-3:]))
def test_dump(path: Path) -> None:
    source = Source(read_text(path), path.name)
    try:
        expected = list_all(parse_module_slowly(source))
    except HlotoolError:
        with pytest.raises(HlotoolError):
            list_all(parse_module_fast(source))
    else:
        assert list_all(parse_module_fast(source)) == expected


def read_wholly(module: Module) -> dict[str, Any] | None:
    """Ask for everything; None if a typed reader refuses."""
    try:
        return describe_module(module)
    except HlotoolError:
        return None


def count_accepted(text: str, count: int, seed: str) -> int:
    """Read mutants with both readers, which must agree; return how many have a meaning."""
    accepted = 0
    for mutant in mutate(text, -(-count // len(BASES)), seed=zlib.crc32(seed.encode())):
        source = Source(mutant)
        try:
            found = read_wholly(parse_module_fast(source))
        except HlotoolError:
            continue  # `parse_module` then asks the descent, and nobody else
        try:
            expected = read_wholly(parse_module_slowly(source))
        except HlotoolError:
            expected = None
        assert found == expected, mutant
        accepted += found is not None
    return accepted


with_bases = pytest.mark.parametrize(("name", "text"), BASES, ids=[name for name, _ in BASES])


@with_bases
def test_some_mutants(name: str, text: str) -> None:
    assert count_accepted(text, FEW, f"few of {name}") > 0


@pytest.mark.mutants
@with_bases
def test_many_mutants(name: str, text: str) -> None:
    assert count_accepted(text, MANY, name) > 100
