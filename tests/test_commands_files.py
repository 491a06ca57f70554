"""Files are written whole or not at all: full disks, links, permissions, pipes, many at once."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hlotool.cli import run
from hlotool.commands.shared.output import add_to_file, write_file
from hlotool.errors import InputError, UsageError

ROOT = Path(__file__).parents[1]
STEP = ROOT / "testdata" / "dumps" / "gpu_h100" / "mlp_train"
LIMIT_BYTES = 300  # of a file, where a disk is to be full


def fail(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def accept_all(_: bytes) -> None:
    """Find nothing wrong."""


def add_anything(path: str, text: str, option: str) -> None:
    add_to_file(path, text, option, accept_all)


@pytest.mark.parametrize("broken", ["fsync", "replace"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_full_disk_leaves_the_old_file_whole(
    broken: str, *, is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    if is_there:
        path.write_text("old\n")
    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(UsageError) as caught:
        write_file(str(path), "new", "--output")
    assert str(caught.value) == f"--output {path}: No space left on device."
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"] * is_there
    assert not is_there or path.read_text() == "old\n"


def test_a_line_is_added_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("one")  # an editor left out the end of the line
    add_to_file(str(path), "two\n", "--history", accept_all)
    assert path.read_text() == "one\ntwo\n"
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UsageError, match=r"^--history .*: No space left on device"):
        add_to_file(str(path), "three\n", "--history", accept_all)
    assert path.read_text() == "one\ntwo\n"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "command",
    [
        f"summary {STEP} --json --output a",
        f"check {STEP} --update-baseline --baseline a",
        f"check {STEP} --budget true --history a",
    ],
)
def test_commands_that_the_system_stops(command: str, tmp_path: Path) -> None:
    """The system itself refuses larger files, as it does on a full disk."""
    path = tmp_path / "a"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}

    def hlotool(limit: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hlotool", *command.replace("true", "1<2").split()],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )

    assert hlotool(1 << 20).returncode == 0
    old = path.read_bytes()
    assert len(old) > LIMIT_BYTES
    done = hlotool(LIMIT_BYTES)
    assert done.returncode == 2
    assert "a: File too large." in done.stderr
    assert path.read_bytes() == old
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
    assert hlotool(1 << 20).returncode == 0  # the old file is one, and is taken as such


def test_an_old_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(0o640)
    write_file(str(path), "new", "--output")
    add_to_file(str(path), "er", "--history", accept_all)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new\ner", 0o640)


def test_a_new_file_has_those_of_any(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    usual = (tmp_path / "other").stat().st_mode
    write_file(str(tmp_path / "a"), "", "--output")
    add_to_file(str(tmp_path / "b"), "", "--history", accept_all)
    assert {(tmp_path / name).stat().st_mode for name in "ab"} == {usual}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch(mode=0o444)
    for write in (write_file, add_anything):
        with pytest.raises(UsageError):
            write(str(path), "new", "--output")
    assert path.read_text() == ""


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_a_link(*, is_there: bool, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, middle, link = tmp_path / "far" / "a", tmp_path / "b", tmp_path / "c"
    if is_there:
        target.write_text("old")
    middle.symlink_to("far/a")
    link.symlink_to(middle)
    write_file(str(link), "new", "--output")
    assert link.is_symlink()
    assert middle.is_symlink()
    assert (target.is_symlink(), target.read_text()) == (False, "new")


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for path in (tmp_path / "a", tmp_path, tmp_path / "no" / "folder", Path("a\0b")):
        with pytest.raises(UsageError, match=r"^--output "):
            write_file(str(path), "", "--output")


def test_a_pipe_is_written_as_it_stands(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[str] = []
    for write in (write_file, add_anything):
        reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
        reader.start()
        write(str(pipe), "text\n", "--output")
        reader.join()
    assert found == ["text\n", "text\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_standard_output_is_no_file_of_its_own(tmp_path: Path) -> None:
    """What a shell opened stays open: a file in its place would not be seen."""
    link = tmp_path / "link"
    link.symlink_to("/dev/stdout")
    for path in ("/dev/stdout", str(link)):
        with (tmp_path / "out").open("wb") as out:
            program = f"from hlotool.commands.shared.output import *; write_file({path!r}, 'x', '')"
            subprocess.run([sys.executable, "-c", program], stdout=out, cwd=ROOT, check=True)
            assert os.path.samestat(os.fstat(out.fileno()), (tmp_path / "out").stat())
        assert (tmp_path / "out").read_text() == "x"


def test_of_many_at_once_no_line_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a"
    lines = [f"{number}\n" for number in range(100)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda line: add_to_file(str(path), line, "--history", accept_all), lines))
    assert sorted(path.read_text().splitlines(keepends=True)) == sorted(lines)
    assert len(list(tmp_path.iterdir())) == 1


def test_what_is_found_wrong_leaves_the_file(tmp_path: Path) -> None:
    def refuse(old: bytes) -> None:
        raise InputError(f"{old!r} is wrong.")

    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(InputError, match="b'old' is wrong"):
        add_to_file(str(path), "new", "--history", refuse)
    assert path.read_text() == "old"


def test_output_names_no_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = ROOT / "testdata" / "hlo" / "cpu_train_step.txt"
    (tmp_path / "a").symlink_to(text)
    assert run(["summary", str(text), "--output", str(tmp_path / "a")]) == 2
    assert "is the input itself" in capsys.readouterr().err
