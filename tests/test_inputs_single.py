"""One file as PATH: reading it in every form, its siblings, and files named by hand."""

from __future__ import annotations

import codecs
import doctest
import gzip
import io
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from input_cases import ROOT, SHARED

from hlotool.errors import InputError, NothingCheckedError, UsageError
from hlotool.inputs import Input, NamedFiles, Stage, find_inputs
from hlotool.inputs.read.compression import decompress
from hlotool.inputs.read.text import decode_text

TEXT = "HloModule jit_f, is_scheduled=true\n\nENTRY e {\n  ROOT p = f32[2]{0} parameter(0)\n}\n"
HALVES = TEXT[:30].encode(), TEXT[30:].encode()
STEM = "module_0003.jit_f.cpu_after_optimizations"
BUFFERS = "BufferAssignment:\nallocation 0: size 8, parameter 0, shape |f32[2]|:\n"
OLD_BUFFERS = f"{BUFFERS}\nTotal bytes used: 8 (8B)\n\nUsed values:\n\n\nHloLiveRange (max 0):\n"
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "-buffer-assignment.txt.gz": gzip.compress,
    "-live-range.txt.xz": lzma.compress,
    ".txt.zst": zstandard.compress,
}
SIBLINGS = {
    f"{STEM}.txt": TEXT,
    f"{STEM}-buffer-assignment.txt": BUFFERS,
    f"{STEM}-buffer-assignment-values.txt": "\nTotal bytes used: 8 (8B)\n\nUsed values:\n",
    f"{STEM}-live-range.txt": "HloLiveRange (max 0):\n",
    "module_0003.jit_f.debug_options": "xla_dump_to: 'd'\n",
    "module_0003.jit_f.before_optimizations.txt": "HloModule jit_f\n",
    "module_0004.jit_f.cpu_after_optimizations-buffer-assignment.txt": BUFFERS,
}


def _find(path: object, **named: str) -> Input:
    (found,) = find_inputs(str(path), named=NamedFiles(**named)).inputs
    return found


def _read(path: object) -> str:
    module = _find(path).module
    assert module
    return module.read().text


def _names(found: Input) -> list[str | None]:
    files = [found.module, found.buffers, found.values, found.live_range, found.debug_options]
    return [Path(file.path).name if file else None for file in files]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    for name, text in SIBLINGS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


FORMS = {
    "plain": TEXT.encode(),
    "utf-8 mark": codecs.BOM_UTF8 + TEXT.encode(),
    "utf-16": TEXT.encode("utf-16"),
    "utf-16 big endian": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    "carriage returns": TEXT.replace("\n", "\r\n").encode(),
    "gzip": gzip.compress(TEXT.encode()),
    "gzip members": b"".join(map(gzip.compress, HALVES)),
    "gzip padded": gzip.compress(TEXT.encode()) + bytes(100),
    "xz": lzma.compress(TEXT.encode()),
    "xz streams": b"".join(map(lzma.compress, HALVES)),
    "zstd": zstandard.compress(TEXT.encode()),
    "zstd frames": b"".join(map(zstandard.compress, HALVES)),
    "zstd without size": zstandard.ZstdCompressor(write_content_size=False).compress(TEXT.encode()),
    "gzip of carriage returns": gzip.compress(TEXT.replace("\n", "\r\n").encode()),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["dump.txt", "dump", "dump.gz", "dump.zst"])
def test_every_form_gives_the_same_text(form: str, name: str, tmp_path: Path) -> None:
    """The first bytes decide, not the name."""
    path = tmp_path / name
    path.write_bytes(FORMS[form])
    assert _read(path) == TEXT
    assert _find(path).name == "jit_f"
    (found,) = find_inputs(str(tmp_path)).inputs  # looked at as one file of a directory
    assert found.module
    assert (found.name, found.module.read().text) == ("jit_f", TEXT)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = gzip.compress((TEXT * 1000).encode())
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    found = find_inputs(str(path))
    writer.join()
    assert found.inputs[0].module
    assert found.inputs[0].module.read().text == TEXT * 1000


@pytest.mark.parametrize("form", ["plain", "gzip", "carriage returns"])
def test_standard_input(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(FORMS[form])))
    found = _find("-")
    assert found.module
    assert (found.path, found.module.path) == ("-", "<stdin>")
    assert found.module.read().text == TEXT


def test_empty_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InputError, match="<stdin>: the file is empty"):
        find_inputs("-")


def test_many_small_members_take_linear_time() -> None:
    """As bgzip writes them, and smaller; quadratic copying would not end here."""
    data = gzip.compress(b"") * 20_000 + gzip.compress(TEXT.encode())
    assert decompress(data, "a") == TEXT.encode()


@given(st.binary(max_size=300), st.sampled_from([b"", *(FORMS[form][:40] for form in FORMS)]))
def test_any_bytes_are_text_or_an_error(data: bytes, start: bytes) -> None:
    try:
        text = decode_text(decompress(start + data, "a"), "a")
    except InputError:
        return
    assert "\r\n" not in text


@given(st.data())
def test_a_cut_archive_is_an_error(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(["gzip", "xz", "zstd"]))
    whole = FORMS[form]
    cut = data.draw(st.integers(7, len(whole) - 1))
    with pytest.raises(InputError, match="cut off"):
        decompress(whole[:cut], "a")


def test_what_stands_before_a_module_is_blanked_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"first line\nsecond line\n{TEXT}", encoding="utf-8")
    assert _read(path) == f"\n\n{TEXT}"


@pytest.mark.parametrize("typed", list(SIBLINGS)[:4])
def test_siblings_are_found_from_each_of_them(typed: str, dump: Path) -> None:
    found = _find(dump / typed)
    assert _names(found) == list(SIBLINGS)[:5]
    assert (found.name, found.stage) == ("jit_f", Stage.AFTER)
    for file in found.files:
        assert file.read().text == SIBLINGS[Path(file.path).name]


def test_a_path_without_folder_has_siblings_too(
    dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(dump)
    assert _names(_find(f"{STEM}.txt")) == list(SIBLINGS)[:5]


def test_the_text_before_optimization_has_no_buffers(dump: Path) -> None:
    found = _find(dump / "module_0003.jit_f.before_optimizations.txt")
    assert found.stage is Stage.BEFORE
    assert _names(found)[1:] == [None, None, None, "module_0003.jit_f.debug_options"]


def test_siblings_may_be_compressed(dump: Path) -> None:
    for ending, compress in COMPRESSIONS.items():
        name = f"{STEM}{ending}"
        data = compress((dump / Path(name).with_suffix("")).read_bytes())
        (dump / Path(name).with_suffix("")).unlink()
        (dump / name).write_bytes(data)
    found = _find(dump / f"{STEM}.txt.zst")
    assert _names(found)[:4] == [
        f"{STEM}.txt.zst",
        f"{STEM}-buffer-assignment.txt.gz",
        f"{STEM}-buffer-assignment-values.txt",
        f"{STEM}-live-range.txt.xz",
    ]
    for file in found.files:
        file.read()


def test_siblings_without_xla_names(tmp_path: Path) -> None:
    (tmp_path / "step.txt").write_text(TEXT)
    (tmp_path / "step-buffer-assignment.txt").write_text(OLD_BUFFERS)
    expected = ["step.txt", "step-buffer-assignment.txt", None, None, None]
    assert _names(_find(tmp_path / "step.txt")) == expected
    assert _names(_find(tmp_path / "step-buffer-assignment.txt")) == expected


def test_the_second_tpu_text_has_the_buffers_of_the_first(tmp_path: Path) -> None:
    stem = "module_0000.jit_f.cl_7.after_optimizations"
    (tmp_path / f"{stem}_after_buffer_assignment.txt").write_text(TEXT)
    (tmp_path / f"{stem}_before_buffer_assignment.txt").write_text(TEXT)
    (tmp_path / f"{stem}-buffer-assignment.txt").write_text(BUFFERS)
    with_buffers = _find(tmp_path / f"{stem}_after_buffer_assignment.txt")
    assert _names(with_buffers)[1] == f"{stem}-buffer-assignment.txt"
    assert _names(_find(tmp_path / f"{stem}_before_buffer_assignment.txt"))[1] is None


def test_a_sibling_of_another_kind_is_refused_when_read(dump: Path) -> None:
    (dump / f"{STEM}-live-range.txt").write_text("{}")
    found = _find(dump / f"{STEM}.txt")
    assert found.live_range
    with pytest.raises(InputError, match=r"expected the live ranges of .* but this is JSON"):
        found.live_range.read()


def test_files_named_by_hand_win(dump: Path, tmp_path: Path) -> None:
    other = "module_0004.jit_f.cpu_after_optimizations-buffer-assignment.txt"
    found = _find(dump / f"{STEM}.txt", buffers=str(dump / other))
    assert _names(found)[:4] == [f"{STEM}.txt", other, None, None]
    ranges = tmp_path / "ranges"
    ranges.write_text("HloLiveRange (max 0):\n")
    found = _find(dump / f"{STEM}.txt", live_range=str(ranges))
    assert _names(found)[3] == "ranges"
    found = _find(dump / other, module_text=str(dump / f"{STEM}.txt"))
    assert _names(found)[:2] == [f"{STEM}.txt", other]
    found = _find(dump / f"{STEM}-live-range.txt", buffers=str(dump / other))
    assert _names(found)[1:4] == [other, None, f"{STEM}-live-range.txt"]


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (f"{STEM}.txt", NamedFiles(module_text="x")),
        (f"{STEM}-buffer-assignment.txt", NamedFiles(buffers="x")),
        (f"{STEM}-live-range.txt", NamedFiles(live_range="x")),
    ],
)
def test_a_part_named_twice_is_refused(typed: str, named: NamedFiles, dump: Path) -> None:
    with pytest.raises(UsageError, match=r"^PATH .* itself; --[a-z-]+ names another\.$"):
        find_inputs(str(dump / typed), named=named)


def test_a_saved_document(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text('{"schema": "hlotool/summary/v1"}')
    found = _find(path)
    assert found.document
    assert (found.module, found.buffers, found.files) == (None, None, (found.document,))
    assert found.document.read().text == path.read_text()
    with pytest.raises(UsageError, match="stands alone"):
        _find(path, buffers="x")


def test_module_pattern_on_one_file(dump: Path) -> None:
    path = str(dump / f"{STEM}.txt")
    assert find_inputs(path, module_pattern="^jit_f$").inputs
    with pytest.raises(NothingCheckedError, match=r"called 'jit_f', which --module 'g' does not"):
        find_inputs(path, module_pattern="g")


def _section(name: str, text: str) -> str:
    return f"*** Begin {name} ***\n{text}\n*** End {name} ***\n"


def test_a_stream_of_one_program_counts_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    names = list(SIBLINGS)[:4] + list(SIBLINGS)[5:6]
    path.write_text(
        "noise\n" + "more noise\n".join(_section(each, SIBLINGS[each]) for each in names)
    )
    found = find_inputs(str(path))
    assert not found.is_directory
    assert _names(found.inputs[0]) == [*(f"out.txt[{each}]" for each in names[:4]), None]
    for file, name in zip(found.inputs[0].files, names, strict=False):
        assert file.read().text == SIBLINGS[name]
    both = find_inputs(str(path), "all")
    assert [each.stage for each in both.inputs] == [Stage.BEFORE, Stage.AFTER]
    assert not both.is_directory


def test_a_stream_of_several_programs_counts_as_a_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two processes printed the same names, one was stopped in the middle."""
    names = [f"{STEM}.txt", "module_0004.jit_g.cpu_after_optimizations.txt"]
    other = TEXT.replace("jit_f", "jit_g")
    stream = _section(names[0], TEXT) + _section(names[1], other) + _section(names[0], TEXT)
    data = f"{stream}*** Begin {names[1]} ***\n{other}".encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    found = find_inputs("-")
    assert found.is_directory
    assert [each.name for each in found.inputs] == ["jit_f", "jit_g"] * 2
    assert found.inputs[0].path == f"<stdin>[{names[0]}]"
    texts = [each.module.read().text for each in found.inputs if each.module]
    assert [text.rstrip() for text in texts] == [TEXT.rstrip(), other.rstrip()] * 2


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared dumps are not here")
def test_siblings_in_the_dumps_of_xla() -> None:
    texts = sorted((SHARED / "dumps").glob("*/*/module_*.*after_optimizations.txt"))
    assert len(texts) > 10
    for path in texts:
        assert len(_find(path).files) == 4, path
        for file in _find(path).files:
            file.read()


def test_the_example_of_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(ROOT / "docs/inputs.md"), module_relative=False)
    assert (failed, tried) == (0, 3)
