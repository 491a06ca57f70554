"""What is no dump: the cases of testdata/bad/inputs, a mistake and its message each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dump_files import ROOT, TESTDATA
from input_cases import KINDS
from tables import TableCase, find_cases

from hlotool.dump.find import resolve_inputs
from hlotool.dump.read import read_source
from hlotool.errors import HlotoolError, InputError

BAD = TESTDATA / "bad" / "inputs"
TABLE = BAD / "refusals.cases"
CASES = find_cases(TABLE)
with_cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def read_content(case: TableCase) -> bytes:
    """Return the bytes of a mistake: of the file that is called so, of a kind, or of the case."""
    beside = TABLE.with_name(case.name)
    if beside.exists():
        return beside.read_bytes()
    kind = case.parts.get("kind")
    return (KINDS[kind.strip()] if kind else case).text.encode()


@with_cases
def test_message(case: TableCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(case.name).write_bytes(read_content(case))
    with pytest.raises(InputError) as raised:
        resolve_inputs(case.name)
    assert f"{raised.value}\n" == case.parts["message"]


def test_every_mistake_has_a_message() -> None:
    files = {path.name for path in BAD.iterdir()} - {TABLE.name}
    assert files <= {case.name for case in CASES}


NOWHERE = {
    "missing": ("missing.txt", "missing.txt: there is no such file or directory."),
    "no folder": ("missing/a.txt", "missing/a.txt: there is no such file or directory."),
    "file as folder": ("file/a.txt", "file/a.txt: Not a directory."),
    "nul": ("a\0b", r"a\x00b: there is no such file or directory."),
    "escape": ("a\x1b[31mb", r"a\x1b[31mb: there is no such file or directory."),
    "loop": ("loop", "loop: Too many levels of symbolic links."),
    "gone": ("gone", "gone: there is no such file or directory."),
    "device": (
        "/dev/zero",
        "/dev/zero: this is a device, not a file; give - to read standard input.",
    ),
    "long": ("x" * 5000, f"{'x' * 5000}: File name too long."),
}


@pytest.mark.parametrize(("path", "message"), NOWHERE.values(), ids=NOWHERE)
def test_paths_that_lead_nowhere(
    path: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone").symlink_to("nowhere")
    with pytest.raises(InputError) as raised:
        resolve_inputs(path)
    assert str(raised.value) == message
    assert raised.value.exit_code == 3


def test_dev_null_is_empty() -> None:
    with pytest.raises(InputError, match="/dev/null: the file is empty"):
        resolve_inputs("/dev/null")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.touch(mode=0)
    with pytest.raises(InputError, match="permission denied"):
        resolve_inputs(str(path))


def test_denied_permission_has_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a").touch()
    monkeypatch.setattr("hlotool.dump.stores.LocalStore.open", refuse)
    with pytest.raises(InputError, match=r"a: permission denied\."):
        read_source(str(tmp_path / "a"))
    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(InputError, match=r"the directory cannot be read \(Permission denied\)\."):
        resolve_inputs(str(tmp_path))


def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    """A file name may hold any byte; the message can still be printed."""
    path = os.fsdecode(os.fsencode(str(tmp_path)) + b"/\xff.txt")
    Path(path).write_text("hello", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        resolve_inputs(path)
    assert (
        str(raised.value).encode("utf-8").startswith(os.fsencode(str(tmp_path)) + rb"/\xff.txt: ")
    )
    Path(path).write_text("HloModule m\n", encoding="utf-8")
    (found,) = resolve_inputs(path).inputs
    assert found.module
    assert found.module.path == path
    assert found.module.read().text == "HloModule m\n"


def test_without_the_zstandard_package(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    script = (
        "import sys; sys.modules['zstandard'] = None\n"
        "from hlotool.dump.find import resolve_inputs\n"
        "try: resolve_inputs(sys.argv[1])\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert shown.stdout == (
        f"MissingPackageError {path}: this file is compressed with zstd, which needs one more "
        "package: pip install 'hlotool[zst]'. Or unpack it with zstd -d.\n"
    )


@with_cases
def test_a_broken_file_does_not_break_a_directory(case: TableCase, tmp_path: Path) -> None:
    """In the place of a module text it is an error of its row, beside it nothing at all."""
    (tmp_path / "module_0000.jit_f.after_optimizations.txt").write_bytes(read_content(case))
    (tmp_path / "module_0002.jit_g.after_optimizations.txt").write_text("HloModule jit_g\n")
    (tmp_path / "neighbour").write_bytes(read_content(case))
    inputs = resolve_inputs(str(tmp_path)).inputs
    modules = {each.module.path: each.module for each in inputs if each.module}
    broken = modules[str(tmp_path / "module_0000.jit_f.after_optimizations.txt")]
    with pytest.raises(HlotoolError):
        broken.read()
    whole = modules[str(tmp_path / "module_0002.jit_g.after_optimizations.txt")]
    assert whole.read().text == "HloModule jit_g\n"
