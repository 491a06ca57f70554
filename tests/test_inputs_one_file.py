"""One file as PATH: its siblings, and files named by hand."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from dump_files import TESTDATA, find_folders, find_texts
from each import for_each
from input_cases import BUFFERS, SIBLINGS, STEM, TEXT, file_names, only_input
from tables import find_cases

from hlotool.dump.find import resolve_inputs
from hlotool.dump.names import Stage
from hlotool.dump.siblings import NamedFiles
from hlotool.errors import InputError, NothingCheckedError, UsageError

OLD_BUFFERS = f"{BUFFERS}\nTotal bytes used: 8 (8B)\n\nUsed values:\n\n\nHloLiveRange (max 0):\n"
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "-buffer-assignment.txt.gz": gzip.compress,
    "-live-range.txt.xz": lzma.compress,
    ".txt.zst": zstandard.compress,
}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    for name, text in SIBLINGS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("typed", list(SIBLINGS)[:4])
def test_siblings_are_found_from_each_of_them(typed: str, dump: Path) -> None:
    found = only_input(dump / typed)
    assert file_names(found) == list(SIBLINGS)[:5]
    assert (found.name, found.stage) == ("jit_f", Stage.AFTER)
    for file in found.files:
        assert file.read().text == SIBLINGS[Path(file.path).name]


def test_a_path_without_folder_has_siblings_too(
    dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(dump)
    assert file_names(only_input(f"{STEM}.txt")) == list(SIBLINGS)[:5]


def test_the_text_before_optimization_has_no_buffers(dump: Path) -> None:
    found = only_input(dump / "module_0003.jit_f.before_optimizations.txt")
    assert found.stage is Stage.BEFORE
    assert file_names(found)[1:] == [None, None, None, "module_0003.jit_f.debug_options"]


def test_siblings_may_be_compressed(dump: Path) -> None:
    for ending, compress in COMPRESSIONS.items():
        name = f"{STEM}{ending}"
        data = compress((dump / Path(name).with_suffix("")).read_bytes())
        (dump / Path(name).with_suffix("")).unlink()
        (dump / name).write_bytes(data)
    found = only_input(dump / f"{STEM}.txt.zst")
    assert file_names(found)[:4] == [
        f"{STEM}.txt.zst",
        f"{STEM}-buffer-assignment.txt.gz",
        f"{STEM}-buffer-assignment-values.txt",
        f"{STEM}-live-range.txt.xz",
    ]
    for file in found.files:
        file.read()


def test_siblings_without_xlafile_names(tmp_path: Path) -> None:
    (tmp_path / "step.txt").write_text(TEXT)
    (tmp_path / "step-buffer-assignment.txt").write_text(OLD_BUFFERS)
    expected = ["step.txt", "step-buffer-assignment.txt", None, None, None]
    assert file_names(only_input(tmp_path / "step.txt")) == expected
    assert file_names(only_input(tmp_path / "step-buffer-assignment.txt")) == expected


def test_the_second_tpu_text_has_the_buffers_of_the_first(tmp_path: Path) -> None:
    stem = "module_0000.jit_f.cl_7.after_optimizations"
    (tmp_path / f"{stem}_after_buffer_assignment.txt").write_text(TEXT)
    (tmp_path / f"{stem}_before_buffer_assignment.txt").write_text(TEXT)
    (tmp_path / f"{stem}-buffer-assignment.txt").write_text(BUFFERS)
    with_buffers = only_input(tmp_path / f"{stem}_after_buffer_assignment.txt")
    assert file_names(with_buffers)[1] == f"{stem}-buffer-assignment.txt"
    assert file_names(only_input(tmp_path / f"{stem}_before_buffer_assignment.txt"))[1] is None


def test_a_sibling_of_another_kind_is_refused_when_read(dump: Path) -> None:
    (dump / f"{STEM}-live-range.txt").write_text("{}")
    found = only_input(dump / f"{STEM}.txt")
    assert found.live_range
    with pytest.raises(InputError, match=r"expected the live ranges of .* but this is JSON"):
        found.live_range.read()


def test_files_named_by_hand_win(dump: Path, tmp_path: Path) -> None:
    other = "module_0004.jit_f.cpu_after_optimizations-buffer-assignment.txt"
    found = only_input(dump / f"{STEM}.txt", buffers=str(dump / other))
    assert file_names(found)[:4] == [f"{STEM}.txt", other, None, None]
    ranges = tmp_path / "ranges"
    ranges.write_text("HloLiveRange (max 0):\n")
    found = only_input(dump / f"{STEM}.txt", live_range=str(ranges))
    assert file_names(found)[3] == "ranges"
    found = only_input(dump / other, module_text=str(dump / f"{STEM}.txt"))
    assert file_names(found)[:2] == [f"{STEM}.txt", other]
    found = only_input(dump / f"{STEM}-live-range.txt", buffers=str(dump / other))
    assert file_names(found)[1:4] == [other, None, f"{STEM}-live-range.txt"]


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (f"{STEM}.txt", NamedFiles(module_text="x")),
        (f"{STEM}-buffer-assignment.txt", NamedFiles(buffers="x")),
        (f"{STEM}-live-range.txt", NamedFiles(live_range="x")),
    ],
)
def test_a_part_named_twice_is_refused(typed: str, named: NamedFiles, dump: Path) -> None:
    with pytest.raises(UsageError, match=r"^PATH .* already; --[a-z-]+ names another\.$"):
        resolve_inputs(str(dump / typed), named=named)


def test_a_saved_document(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text('{"schema": "hlotool/summary/v2"}')
    found = only_input(path)
    assert found.document
    assert (found.module, found.buffers, found.files) == (None, None, (found.document,))
    assert found.document.read().text == path.read_text()
    with pytest.raises(UsageError, match="takes no further files"):
        only_input(path, buffers="x")


def test_module_pattern_on_one_file(dump: Path) -> None:
    path = str(dump / f"{STEM}.txt")
    assert resolve_inputs(path, module_pattern="^jit_f$").inputs
    with pytest.raises(NothingCheckedError, match=r"called 'jit_f', which --module 'g' does not"):
        resolve_inputs(path, module_pattern="g")


@for_each(find_folders())
def test_siblings_in_the_dumps_of_xla(folder: Path) -> None:
    """The module, and the buffer assignment in three files; older compilers wrote one."""
    files = only_input(find_texts(folder)[-1]).files
    assert len(files) == (2 if "_jax_" in folder.parent.name else 4)
    for file in files:
        file.read()


FORMS = find_cases(TESTDATA / "hlo_forms")


def test_every_form_of_hlo_is_one_program(tmp_path: Path) -> None:
    """A module in a string of another, a recovery table, is not a second program."""
    path = tmp_path / "form.txt"
    for case in FORMS:
        path.write_text(case.text, encoding="utf-8", newline="")
        assert len(resolve_inputs(str(path)).inputs) == 1, case.name
