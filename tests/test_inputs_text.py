"""One file in every form: compressed, encoded, piped, cut off."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from input_cases import TEXT, only_input

from hlotool.dump.budget import ByteBudget
from hlotool.dump.compression import decompress
from hlotool.dump.find import resolve_inputs
from hlotool.dump.read import decode_text
from hlotool.errors import InputError
from hlotool.text import Source

HALVES = TEXT[:30].encode(), TEXT[30:].encode()
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


def _read(path: object) -> str:
    module = only_input(path).module
    assert module
    return module.read().text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["dump.txt", "dump", "dump.gz", "dump.zst"])
def test_every_form_gives_the_same_text(form: str, name: str, tmp_path: Path) -> None:
    """The first bytes decide, not the name."""
    path = tmp_path / name
    path.write_bytes(FORMS[form])
    assert _read(path) == TEXT
    assert only_input(path).name == "jit_f"
    (found,) = resolve_inputs(str(tmp_path)).inputs  # looked at as one file of a directory
    assert found.module
    assert (found.name, found.module.read().text) == ("jit_f", TEXT)


@pytest.mark.parametrize(
    "compress", [gzip.compress, partial(lzma.compress, preset=0), zstandard.compress]
)
@pytest.mark.parametrize("beginning", [b"", b"BZh", b"text \x00 text "])
def test_what_is_no_text_is_not_unpacked(
    compress: Callable[[bytes], bytes], beginning: bytes
) -> None:
    """A few bytes may stand for gigabytes."""
    data = beginning + bytes(1 << 26)
    unpacked = decompress(compress(data), "dump.txt", ByteBudget().allow("dump.txt"))
    assert len(unpacked) <= 1 << 25
    messages = set()
    for each in (data, unpacked):
        with pytest.raises(InputError) as caught:
            decode_text(each, "dump.txt")
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = TEXT + "// and so on\n" * 10_000
    data = gzip.compress(text.encode())
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    found = resolve_inputs(str(path))
    writer.join()
    assert found.inputs[0].module
    assert found.inputs[0].module.read().text == text


@pytest.mark.parametrize("form", ["plain", "gzip", "carriage returns"])
def test_standard_input(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(FORMS[form])))
    found = only_input("-")
    assert found.module
    assert (found.path, found.module.path) == ("-", "<stdin>")
    assert found.module.read().text == TEXT


def test_empty_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InputError, match="<stdin>: the file is empty"):
        resolve_inputs("-")


@pytest.mark.hard
def test_many_small_members_take_linear_time() -> None:
    """As bgzip writes them, and smaller; quadratic copying would not end here."""
    data = gzip.compress(b"") * 20_000 + gzip.compress(TEXT.encode())
    assert decompress(data, "a", ByteBudget().allow("a")) == TEXT.encode()


@given(st.binary(max_size=300), st.sampled_from([b"", *(FORMS[form][:40] for form in FORMS)]))
def test_any_bytes_are_text_or_an_error(data: bytes, start: bytes) -> None:
    try:
        text = decode_text(decompress(start + data, "a", ByteBudget().allow("a")), "a")
    except InputError:
        return
    assert "\r\n" not in text


@given(st.data())
def test_a_cut_archive_is_an_error(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(["gzip", "xz", "zstd"]))
    whole = FORMS[form]
    cut = data.draw(st.integers(7, len(whole) - 1))
    with pytest.raises(InputError, match="cut off"):
        decompress(whole[:cut], "a", ByteBudget().allow("a"))


def test_what_stands_before_a_module_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"first line\nsecond line\n{TEXT}", encoding="utf-8")
    module = only_input(path).module
    assert module
    assert module.read() == Source(TEXT, str(path), first_line=3)
