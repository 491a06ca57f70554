"""Injured dumps: each gets an answer in which every figure is possible, or a refusal.

Every mutant is asked about with one command, in turn; a text of a module is also read by both
readers, which must agree: both read it alike, attributes and typed values included, or the fast
one does not. `make hard` tries 10,000 and `make mutants` 300,000, the same ones first;
`make test` tries twelve of each kind.
"""

from __future__ import annotations

import random
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from described import describe_module
from dump_files import TESTDATA
from format_mutants import BUFFER_MUTATIONS, FORMAT_MUTATIONS
from mutant_bases import Base, list_buffer_bases, list_module_bases, write_base
from mutant_judge import Outcome, ask, expect_agreement, find_impossible
from mutant_tally import Tally
from mutants import MUTATIONS, Mutation, injure
from structure_mutants import STRUCTURE_MUTATIONS
from test_oracle import outline
from xla_reader import XlaReader, find_reader

from hlotool.errors import HlotoolError
from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module, read_module
from hlotool.program.program import Program
from hlotool.text import Source

MODULES, BUFFERS = list_module_bases(), list_buffer_bases()
FAILED_ONCE = sorted((TESTDATA / "bad" / "mutants").iterdir())
PARTS = 4  # of each kind, so that all processors have work to the end
FEW = 16  # one for each of the commands below
TRIES = 5  # to injure a dump in some way
# Of these XLA takes the layout from the operand, whatever is written, or does not print it.
UNTOLD_LAYOUTS = re.compile(r"\b(?:async-start|recv-done)\(")

EXPRESSIONS = ("cost.flops_per_step<=1e18", "buffers.peak_bytes<=1GiB", "fusions.count()>=0")
BUDGETS = " ".join(f"--budget {one}" for one in EXPRESSIONS)
CHIPS = TESTDATA / "check" / "any_chip.toml"  # of no backend, so that it fits all dumps
# Each takes a dump's path; `{base}` is the dump before it was injured, `{larger}` that at another
# size, `{chips}` a file of chips.
ASKED = (
    "summary {path} --json",
    "buffers {path} --json -n 0",
    "fusions {path} --json -n 0",
    "collectives {path} --json -n 0 --chip any --chip-file {chips}",
    "diff {base} {path} --json",
    f"check {{path}} --json {BUDGETS}",
    "summary {path} --chip any --chip-file {chips}",
    "buffers {path}",
    "fusions {path} --chip any --chip-file {chips} -n 0",
    "collectives {path} --format markdown",
    "diff {path} {base}",
    "fusions {path} --json --rows custom_calls",
    "shardings {path} --json -n 0",
    "fit {larger} {path} --json",
    "fit {path} {larger}",
    "buffers {path} --hbm 1KiB --json",
)
LARGER = re.compile(r"(?<=\[)\d+(?=[,\]])")  # the first dimension of each shape


@dataclass(frozen=True)
class Kind:
    """A kind of mutation, and the dumps in which it finds something to injure."""

    name: str
    mutations: tuple[Mutation, ...]
    bases: list[Base]


def list_kinds() -> list[Kind]:
    """List the kinds of mutation: those of any text, of modules and of buffer assignments."""
    kinds = [Kind(name, made, MODULES + BUFFERS) for name, made in MUTATIONS.items()]
    kinds += [Kind(name, (made,), MODULES) for name, made in FORMAT_MUTATIONS.items()]
    kinds += [Kind(name, (made,), BUFFERS) for name, made in BUFFER_MUTATIONS.items()]
    kinds += [Kind(name, (made,), MODULES) for name, made in STRUCTURE_MUTATIONS.items()]
    return [Kind(one.name, one.mutations, list(find_fit(one))) for one in kinds]


def find_fit(kind: Kind) -> Iterator[Base]:
    """Find the dumps that a few tries injure."""
    random_ = random.Random(0)  # noqa: S311  not for secrets
    for base in kind.bases:
        tries = (injure(kind.mutations[0], base.text, random_) for _ in range(TRIES))
        if any(mutant != base.text for mutant in tries):
            yield base


KINDS = list_kinds()


def read_wholly(module: Module) -> dict[str, Any] | None:
    """Ask for everything; None if a typed reader refuses."""
    try:
        return describe_module(module)
    except HlotoolError:
        return None


def expect_one_reading(text: str) -> None:
    """Read a text with both readers, which must agree.

    `parse_module` asks the descent, and nobody else, where the fast reader does not read.
    """
    source = Source(text)
    read = partial(read_module, source)
    try:
        found = read_wholly(read(is_slow=False))
    except HlotoolError:
        return
    try:
        expected = read_wholly(read(is_slow=True))
    except HlotoolError:
        expected = None
    assert found == expected, "the readers differ"


@pytest.fixture(scope="module")
def xla() -> Iterator[XlaReader | None]:
    """Return jaxlib's parser, None where it is not there."""
    reader = find_reader()
    yield reader
    if reader is not None:
        reader.close()


def sketch(text: str) -> list[Counter[str]] | None:
    """Count the instructions of each computation by opcode, shape and operands; None if refused.

    The order does not count: XLA prints operands first, and computations where it likes.
    """
    try:
        module = parse_module(Source(text))
    except HlotoolError:
        return None
    return sorted(
        (
            Counter(
                f"{one.opcode} {outline(one.shape)} "
                f"{[(each.opcode, outline(each.shape)) for each in one.operands]}"
                for one in computation.instructions
            )
            for computation in module.computations.values()
        ),
        key=lambda each: sorted(each.items()),
    )


def count_flops(text: str) -> float | None:
    """Return what a run of the entry computes, None where it is refused or not known."""
    try:
        found = Program("", parse_module(Source(text))).metric("cost.flops")
    except HlotoolError:
        return None
    return float(found) if isinstance(found, int | float) else None


def agrees_with_xla(text: str, xla: XlaReader) -> tuple[bool, bool] | None:
    """Say whether instructions and flops are what XLA reads; None where one of us refuses."""
    ours = sketch(text)
    theirs = xla.read(text) if ours is not None else None
    if ours is None or theirs is None:
        return None
    return ours == sketch(theirs["text"]), count_flops(text) == (theirs["flops"] or 0)


@pytest.mark.hard
@pytest.mark.parametrize("name", STRUCTURE_MUTATIONS)
def test_structures_are_what_xla_reads(
    name: str, xla: XlaReader | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """And three commands tell the same of each; bases on which we differ already are left out."""
    chance = random.Random(zlib.crc32(name.encode()))  # noqa: S311
    count = -(-request.config.getoption("--mutants") // (10 * len(STRUCTURE_MUTATIONS)))
    bases = [one for one in MODULES if not ("layout" in name and UNTOLD_LAYOUTS.search(one.text))]
    known = {base.name: agrees_with_xla(base.text, xla) if xla else None for base in bases}
    path = tmp_path / "module.txt"
    wrong = []
    for _ in range(count):
        base = chance.choice(bases)
        mutant = STRUCTURE_MUTATIONS[name](chance, base.text)
        if mutant == base.text:
            continue
        path.write_text(mutant, encoding="utf-8", newline="")
        expect_agreement(str(path))
        before = known[base.name]
        found = agrees_with_xla(mutant, xla) if xla and before else None
        if before and found and any(was > now for was, now in zip(before, found, strict=True)):
            wrong.append(f"{base.name}, {found}:\n{mutant}")
    assert not wrong, "\n\n".join(wrong[:5])


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where no hlotool.toml is
    monkeypatch.setenv("HLOTOOL_DEBUG", "1")  # a failure says where


@pytest.mark.hard
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("part", range(PARTS))
def test_mutants(
    *,
    kind: Kind,
    part: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    count = -(-request.config.getoption("--mutants") // (len(KINDS) * PARTS))
    tally = try_mutants(kind, part, count, tmp_path)
    record_property("mutants", (kind.name, dict(tally.outcomes)))
    tally.assert_no_failure()
    assert tally.asked > count // 4


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_first_mutants(kind: Kind, tmp_path: Path) -> None:
    """The first of those above."""
    tally = try_mutants(kind, 0, FEW, tmp_path)
    tally.assert_no_failure()
    assert tally.asked


def try_mutants(kind: Kind, part: int, count: int, folder: Path) -> Tally:
    """Ask about mutants of a kind, in each part others, and the same ones first."""
    seed = zlib.crc32(f"{kind.name} {part}".encode())
    random_ = random.Random(seed)  # noqa: S311  not for secrets
    tally = Tally(folder)
    places = make_places(kind.bases, folder)
    for number in range(count):
        chosen = random_.randrange(len(kind.bases))
        base, (folder, beside) = kind.bases[chosen], places[chosen]
        mutant = injure(random_.choice(kind.mutations), base.text, random_)
        if mutant == base.text:
            tally.outcomes["nothing to injure"] += 1
            continue
        path = write_base(base, mutant, folder)
        asked = ASKED[number % len(ASKED)].format(path=path, **beside)
        text = mutant if base.injured == path.name else None
        tally.count(
            mutant.encode(), "txt", f"of {base.name}, {asked}", partial(ask_and_read, asked, text)
        )
        if tally.is_enough:
            break
    return tally


def ask_and_read(asked: str, text: str | None) -> Outcome:
    """Ask a command; read the text of a module, if it is one, with both readers first."""
    if text is not None:
        expect_one_reading(text)
    return ask(*asked.split())


def make_places(bases: list[Base], folder: Path) -> list[tuple[Path, dict[str, Path]]]:
    """Give every base a folder for its mutants, and write what commands have beside them."""
    places = []
    for number, base in enumerate(bases):
        mutants = folder / f"{number}"
        mutants.mkdir()
        places.append((mutants, write_beside(base, folder / f"{number}.base")))
    return places


def write_beside(base: Base, folder: Path) -> dict[str, Path]:
    """Write a base as it is, and its module at another size."""
    folder.mkdir()
    whole = write_base(base, base.text, folder)
    larger = folder / "larger.hlo"
    text = whole.read_text(encoding="utf-8")
    larger.write_text(LARGER.sub(lambda found: str(2 * int(found[0])), text), encoding="utf-8")
    return {"base": whole, "larger": larger, "chips": CHIPS}


def test_there_is_something_to_injure() -> None:
    assert len(MODULES) > 150
    assert len(BUFFERS) > 15
    for kind in KINDS:
        assert len(kind.bases) >= 5, kind.name


@pytest.mark.hard
@pytest.mark.parametrize("bases", [MODULES, BUFFERS], ids=["modules", "buffers"])
def test_what_is_whole_is_answered(bases: list[Base], tmp_path: Path) -> None:
    for number, base in enumerate(bases):
        beside = write_beside(base, tmp_path / f"{number}")
        for asked in ASKED:
            ask(*asked.format(path=beside["base"], **beside).split())


@pytest.mark.parametrize("path", FAILED_ONCE, ids=lambda path: path.stem)
def test_what_failed_once(path: Path) -> None:
    for asked in ASKED:
        ask(*asked.format(path=path, base=path, larger=path, chips=CHIPS).split())


def test_failures_are_told_once_each(tmp_path: Path) -> None:
    tally = Tally(tmp_path)

    def fail() -> Outcome:
        raise AssertionError("so many")

    tally.count(b"fine", "txt", "of one", lambda: "refused")
    for mutant in (b"first", b"second"):
        tally.count(mutant, "txt", f"of {mutant.decode()}", fail)
    assert tally.outcomes == {"refused": 1, "failed": 2}
    assert tally.asked == 1
    assert (tmp_path / "failure2.txt").read_bytes() == b"second"
    with pytest.raises(AssertionError, match=r"^\S+failure1\.txt, of first\nso many$"):
        tally.assert_no_failure()


@pytest.mark.parametrize(
    ("document", "mistake"),
    [
        ({"rows": [{"size_bytes": -1}]}, ".rows[0].size_bytes is -1"),
        ({"totals": {"flops_per_step": float("nan")}}, ".totals.flops_per_step is nan"),
        ({"groups": [{"share": 1.5}]}, ".groups[0].share is 1.5"),
        ({"peak_bytes": 3, "allocated_bytes": 2}, ": peak_bytes 3 > allocated_bytes 2"),
        (
            {"schema": "hlotool/buffers/v2", "at": {"bytes": 4}, "rows": [{"live_bytes": 3}]},
            "the rows hold 3, and at.bytes is 4",
        ),
    ],
)
def test_the_judge_sees_what_cannot_be(document: dict[str, object], mistake: str) -> None:
    assert list(find_impossible(document)) == [mistake]
