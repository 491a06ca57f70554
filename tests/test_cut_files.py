"""A file that is cut short is refused, or a note says that its end cannot be checked.

What is left are cuts that take nothing an answer needs: the breakdown behind XLA's peak, the
newline at the very end.
"""

from __future__ import annotations

import gzip
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from dump_files import TESTDATA
from tables import read_case

from hlotool import cli

NEWER = TESTDATA / "buffers" / "newer" / "module_0001.jit_f.sm_9.0a_gpu_after_optimizations"
TPU = (
    TESTDATA
    / "folders"
    / "tpu_v5e.plain"
    / "module_0000.jit_affine.cl_1003875606.after_optimizations"
)
ALLOCATIONS, VALUES, RANGES = (
    "-buffer-assignment.txt", "-buffer-assignment-values.txt", "-live-range.txt",
)  # fmt: skip
MODULE = ".txt"
ENDED = (
    "The text may be incomplete",
    "its end cannot be checked",
    "this is part of a program",
)

# Which files lie there; the first is cut.
CASES = {
    "module": (MODULE,),
    "module of a dump": (MODULE, ALLOCATIONS, VALUES, RANGES),
    "allocations": (ALLOCATIONS,),
    "allocations of a dump": (ALLOCATIONS, MODULE, VALUES, RANGES),
    "allocations and module": (ALLOCATIONS, MODULE),
    "allocations and values": (ALLOCATIONS, VALUES),
    "allocations and ranges": (ALLOCATIONS, RANGES),
    "values": (VALUES, ALLOCATIONS),
    "values of a dump": (VALUES, MODULE, ALLOCATIONS, RANGES),
    "ranges": (RANGES, ALLOCATIONS),
    "ranges of a dump": (RANGES, MODULE, ALLOCATIONS, VALUES),
}


class Answers:
    """What the commands say of a path: exit codes, answers and what stands on stderr."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str], *commands: str) -> None:
        self.codes: list[int] = []
        self.texts: list[str] = []
        self.notes = ""
        for command in commands:
            self.codes.append(cli.run([command, str(path), "--json"]))
            printed = capsys.readouterr()
            self.texts.append(printed.out)
            self.notes += printed.err


def check_cuts(
    cut: Path, asked: Path, capsys: pytest.CaptureFixture[str], *, is_packed: bool = False
) -> int:
    """Cut a file at every line and in the middle of it; return how many cuts were refused."""
    data = cut.read_bytes()
    pack = gzip.compress if is_packed else bytes
    commands = ("summary", "buffers") if asked.name.endswith("optimizations.txt") else ("buffers",)
    cut.write_bytes(pack(data))
    whole = Answers(asked, capsys, *commands)
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    cuts = {*ends, *((one + other) // 2 for one, other in pairwise(ends))}
    refused = 0
    for end in sorted(cuts - {len(data)}):
        cut.write_bytes(pack(data[:end]))
        part = Answers(asked, capsys, *commands)
        has_note = any(words in part.notes for words in ENDED)
        refused += 3 in part.codes
        is_told = set(part.codes) == {3} or has_note
        assert is_told or part.texts == whole.texts, f"{cut.name} is cut to {end} bytes in silence"
    cut.write_bytes(data)
    return refused


def copy_case(stem: Path, endings: tuple[str, ...], folder: Path) -> list[Path]:
    """Copy the files of a case; return them in its order."""
    paths = [Path(f"{stem}{ending}") for ending in endings]
    return [Path(shutil.copy(path, folder)) for path in paths]


@pytest.mark.hard
@pytest.mark.parametrize("stem", [NEWER, TPU], ids=["gpu", "tpu"])
@pytest.mark.parametrize("endings", CASES.values(), ids=CASES)
def test_no_cut_is_answered_in_silence(
    stem: Path, endings: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = copy_case(stem, endings, tmp_path)
    wanted = MODULE if MODULE in endings else ALLOCATIONS
    assert check_cuts(files[0], files[endings.index(wanted)], capsys) > 10


@pytest.mark.hard
def test_a_packed_file_is_no_different(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (module,) = copy_case(TPU, (MODULE,), tmp_path)
    assert check_cuts(module, module, capsys, is_packed=True) > 10


@pytest.mark.hard
def test_old_single_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(shutil.copy(TESTDATA / "buffers" / "tuple_fusion.txt", tmp_path))
    assert check_cuts(path, path, capsys) > 100


def test_text_without_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.after_optimizations.txt"
    path.write_text(read_case(TESTDATA / "hlo_forms/modules.cases/no_header").text, "utf-8")
    assert check_cuts(path, path, capsys) > 0


@pytest.mark.parametrize("stem", [NEWER, TPU], ids=["gpu", "tpu"])
@pytest.mark.parametrize(
    "endings", [one for one in CASES.values() if MODULE in one or VALUES in one]
)
def test_a_whole_dump_needs_no_note(
    stem: Path, endings: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = copy_case(stem, endings, tmp_path)
    answers = Answers(files[0], capsys, "buffers")
    assert (answers.codes, answers.notes) == ([0], "")
