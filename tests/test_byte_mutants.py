"""Injured protos, profiles, messages, reports and archives: answered or refused, as dumps are.

`make hard` tries 2,000, a fifth as many as of texts, and `make test` a dozen of each kind. What
failed once is kept in testdata/bad/bytes, and asked about with every command.
"""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from byte_mutants import ByteMutation, injure_bytes, injure_fields
from dump_files import TESTDATA
from mutant_judge import Outcome, ask
from mutant_tally import Tally
from profile_builder import GPU, TPU, Plane, metadata
from tables import find_cases
from test_profiles import LABEL, stream, tpu

from hlotool.proto.kind import write_field

FAILED_ONCE = sorted((TESTDATA / "bad" / "bytes").iterdir())
PARTS = 4
FEW = 12
MOST_BYTES = 3_000  # of a proto, compressed

CHIPS = TESTDATA / "check" / "any_chip.toml"
CHIP = f"--chip any --chip-file {CHIPS}"
ASKED = (
    "summary {path} --json",
    "buffers {path} --json -n 0",
    f"fusions {{path}} --json -n 0 {CHIP}",
    f"collectives {{path}} --json -n 0 {CHIP}",
    f"summary {{path}} {CHIP}",
    "buffers {path}",
)
ASKED_OF_PROTOS = (*ASKED, "text {path}")
ASKED_OF_MESSAGES = (
    "buffers {path} --json",
    "buffers {path}",
    f"buffers {{path}} --json --dump {TESTDATA / 'folders' / 'cpu.several'}",
    "summary {path} --json",
)
ASKED_OF_REPORTS = ("buffers {path} --json", "summary {path}")


@dataclass(frozen=True)
class Kind:
    """A kind of file: how one is called, some that are whole, and what is done and asked."""

    name: str
    ending: str
    bases: tuple[bytes, ...]
    mutations: tuple[ByteMutation, ...]
    asked: tuple[str, ...] = ASKED


def unpack(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def injure_proto(data: bytes, chance: random.Random) -> bytes:
    return injure_fields(data, "HloProto", chance)


def injure_profile(data: bytes, chance: random.Random) -> bytes:
    return injure_fields(data, "XSpace", chance)


def injure_packed(data: bytes, chance: random.Random) -> bytes:
    """Injure what is in a compressed file."""
    return gzip.compress(injure_bytes(gzip.decompress(data), chance), 1)


def list_protos() -> tuple[bytes, ...]:
    """List small modules, as HloProto, and compiled programs with their buffers."""
    small = [
        write_field(1, unpack(path))
        for path in sorted((TESTDATA / "protos").glob("*.hlo.pb.gz"))
        if path.stat().st_size < MOST_BYTES
    ]
    compiled = sorted((TESTDATA / "folders" / "cpu.several").rglob("*after_opt*.hlo.pb"))
    return *small, *(path.read_bytes() for path in compiled), GPU


def pack_zip(folder: Path, compression: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for path in sorted(folder.glob("module_0000*")):
            archive.write(path, path.name)
    return made.getvalue()


def pack_tar(folder: Path) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path in sorted(folder.glob("module_0000*")):
            archive.add(path, path.name)
    return made.getvalue()


DUMP = TESTDATA / "folders" / "cpu.several"
ZIPPED = (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)
MESSAGES = tuple(case.text.encode() for case in find_cases(TESTDATA / "out_of_memory"))
REPORTS = tuple(path.read_bytes() for path in sorted((TESTDATA / "usage_reports").iterdir()))
PROFILES = (
    metadata((LABEL, TPU)) + tpu(0).to_bytes(),
    metadata(("jit_loop(7)", GPU)) + stream(0).to_bytes(),
    metadata((LABEL, list_protos()[0])) + Plane("/host:CPU").to_bytes(),
)
KINDS = (
    Kind(
        "protos",
        "hlo.pb",
        list_protos(),
        (injure_bytes, injure_proto, injure_proto),
        ASKED_OF_PROTOS,
    ),
    Kind("profiles", "xplane.pb", PROFILES, (injure_bytes, injure_profile, injure_profile)),
    Kind("messages", "log", MESSAGES, (injure_bytes,), ASKED_OF_MESSAGES),
    Kind("reports", "report", REPORTS, (injure_bytes,), ASKED_OF_REPORTS),
    Kind("zips", "zip", tuple(pack_zip(DUMP, each) for each in ZIPPED), (injure_bytes,)),
    Kind("tars", "tar", (pack_tar(DUMP),), (injure_bytes,)),
    Kind(
        "compressed tars",
        "tar.gz",
        (gzip.compress(pack_tar(DUMP), 1),),
        (injure_bytes, injure_packed),
    ),
)


def ask_about(path: Path, asked: str) -> Outcome:
    """Ask one command; what failed is told with the words."""
    return ask(*asked.format(path=path).split())


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where no hlotool.toml is
    monkeypatch.setenv("HLOTOOL_DEBUG", "1")  # a failure says where


@pytest.mark.hard
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("part", range(PARTS))
def test_byte_mutants(
    *,
    kind: Kind,
    part: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    count = -(-request.config.getoption("--mutants") // (5 * len(KINDS) * PARTS))
    tally = try_mutants(kind, part, count, tmp_path)
    record_property("mutants", (kind.name, dict(tally.outcomes)))
    tally.assert_no_failure()
    assert tally.asked == count


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_first_byte_mutants(kind: Kind, tmp_path: Path) -> None:
    """The first of those above."""
    tally = try_mutants(kind, 0, FEW, tmp_path)
    tally.assert_no_failure()
    assert tally.asked == FEW


def try_mutants(kind: Kind, part: int, count: int, folder: Path) -> Tally:
    """Ask about mutants of a kind, in each part others, and the same ones first."""
    chance = random.Random(zlib.crc32(f"{kind.name} {part}".encode()))  # noqa: S311
    tally = Tally(folder)
    path = folder / f"x.{kind.ending}"
    for number in range(count):
        mutant = chance.choice(kind.mutations)(chance.choice(kind.bases), chance)
        asked = kind.asked[number % len(kind.asked)]
        path.write_bytes(mutant)
        tally.count(mutant, kind.ending, asked, partial(ask_about, path, asked))
        if tally.is_enough:
            break
    return tally


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_is_whole_is_answered(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind.ending}"
    for base in kind.bases:
        path.write_bytes(base)
        outcomes = {asked: ask_about(path, asked) for asked in kind.asked}
        assert outcomes[kind.asked[0]] != "refused"


@pytest.mark.parametrize("path", FAILED_ONCE, ids=lambda path: path.stem)
def test_what_failed_once(path: Path) -> None:
    kind = next(each for each in KINDS if path.name.endswith(f".{each.ending}"))
    for asked in kind.asked:
        ask_about(path, asked)
