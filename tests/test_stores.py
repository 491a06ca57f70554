"""Archives and addresses: what lies there is read as if it lay in a directory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import sys
import tarfile
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from linear import assert_linear

from hlotool.cli import run
from hlotool.dump import read, stores
from hlotool.dump.archives import ArchiveStore, Member
from hlotool.dump.budget import ByteBudget
from hlotool.dump.find import resolve_inputs
from hlotool.dump.read import choose_store, relative_path
from hlotool.errors import HlotoolError, InputError, MissingPackageError

DUMP = Path(__file__).parent.parent / "testdata" / "folders" / "cpu.several"
INIT = "module_0000.jit_init.cpu_after_optimizations.txt"
TEXT = b"HloModule m\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"


def pack_zip(folder: Path) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return made.getvalue()


def pack_tar(folder: Path) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.add(folder, ".")
    return made.getvalue()


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").compress(data)  # type: ignore[no-any-return]


KINDS: dict[str, Callable[[Path], bytes]] = {
    "zip": pack_zip,
    "tar": pack_tar,
    "tar.gz": lambda folder: gzip.compress(pack_tar(folder)),
    "tar.bz2": lambda folder: bz2.compress(pack_tar(folder)),
    "tar.xz": lambda folder: lzma.compress(pack_tar(folder)),
    "tar.zst": lambda folder: zstd(pack_tar(folder)),
}


def tar_of(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def answer(capsys: pytest.CaptureFixture[str], path: str, *words: str) -> str:
    """Return the JSON of a summary, with the path replaced."""
    assert run(["summary", path, *words, "--json"]) == 0
    printed = capsys.readouterr()
    assert not printed.err
    return printed.out.replace(f"{path}!/", "DUMP/").replace(path.rstrip("/"), "DUMP")


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_is_its_directory(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "packed.bin"  # the content decides
    data = KINDS[kind](DUMP)
    path.write_bytes(data)
    expected = answer(capsys, str(DUMP))
    before = sorted(tmp_path.iterdir())
    assert answer(capsys, str(path)) == expected
    one = f"{path}!/{INIT}"
    assert answer(capsys, str(path), "--module", "init") == answer(
        capsys, str(DUMP), "--module", "init"
    )
    found = resolve_inputs(one).inputs[0]
    assert found.buffers is not None
    assert found.buffers.path.startswith(f"{path}!/module_0000")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run(["summary", "-", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["modules"][0]["path"].startswith("<stdin>!/module_")
    assert len(made["modules"]) == 3
    assert sorted(tmp_path.iterdir()) == before
    assert run(["diff", str(DUMP), str(path), "--json"]) == 0


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_names_are_only_names(kind: str, tmp_path: Path) -> None:
    names = ["/etc/a.txt", "../../b.txt", "./c/../d//c.txt"]
    made = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(made, "w") as archive:
            for name in names:
                archive.writestr(name, TEXT)
            link = zipfile.ZipInfo("d.txt")
            link.external_attr = 0o120777 << 16
            archive.writestr(link, "/etc/passwd")
        data = made.getvalue()
    else:
        link_info = tarfile.TarInfo("d.txt")
        link_info.type, link_info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        members = [(tarfile.TarInfo(name), TEXT) for name in names]
        data = tar_of([*members, (link_info, b"")])
        data = gzip.compress(data) if kind == "tar.gz" else data
    path = tmp_path / "x"
    path.write_bytes(data)
    found = resolve_inputs(str(path))
    assert sorted(each.path for each in found.inputs) == [
        f"{path}!/b.txt",
        f"{path}!/c/d/c.txt",
        f"{path}!/etc/a.txt",
    ]
    assert all(each.module and each.module.read().text == TEXT.decode() for each in found.inputs)
    assert choose_store(f"{path}!/../../../etc/passwd").find_size(f"{path}!/../etc/passwd") is None


def test_a_member_that_is_an_archive_is_none_of_the_directory(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "m.txt.gz").write_bytes(gzip.compress(TEXT))
    (inner / "again.zip").write_bytes(pack_zip(DUMP))
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(pack_tar(inner)))
    found = resolve_inputs(str(path))
    assert [each.path for each in found.inputs] == [f"{path}!/m.txt.gz"]


def test_bombs(tmp_path: Path) -> None:
    """What is no text is not unpacked further."""
    zeros = bytes(30 << 20)
    path = tmp_path / "x"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", zeros)
        archive.writestr("b.txt", TEXT)
    member = f"{path}!/a.txt"
    assert len(choose_store(member).read(member)) <= 1 << 12
    assert [each.name for each in resolve_inputs(str(path)).inputs] == ["m"]

    path.write_bytes(gzip.compress(tar_of([(tarfile.TarInfo("a"), zeros)])))
    assert len(choose_store(f"{path}!/a").read(f"{path}!/a")) <= 1 << 12

    long = tarfile.TarInfo("a")
    long.pax_headers = {"comment": "x" * (8 << 20)}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(long, io.BytesIO(b""))
    path.write_bytes(gzip.compress(made.getvalue()))
    with pytest.raises(InputError, match="a member's header is too long"):
        resolve_inputs(str(path))

    members = (Member(f"{number}", 0, io.BytesIO) for number in range(200_001))
    with pytest.raises(OSError, match="200,000 members"):
        ArchiveStore("x!", members, ByteBudget().allow("x"))


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_archives_are_sentences(kind: str, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    (small / INIT).write_bytes((DUMP / INIT).read_bytes())
    data, path = KINDS[kind](small), tmp_path / "x"
    chance = random.Random(5)  # noqa: S311
    for number in range(120):
        broken = bytearray(data)
        if number % 2:
            del broken[chance.randrange(len(data)) :]
        else:
            for _ in range(3):
                broken[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(broken)
        try:
            for each in resolve_inputs(str(path)).inputs:
                if each.module:
                    each.module.read()
        except HlotoolError as error:
            assert str(path) in str(error)  # noqa: PT017  not all are damaged


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    data = bytearray(pack_zip(DUMP))
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        position = data.find(mark)
        while position >= 0:
            data[position + (6 if mark[2] == 3 else 8)] |= 1
            position = data.find(mark, position + 1)
    path = tmp_path / "x.zip"
    path.write_bytes(data)
    with pytest.raises(InputError, match="the member is encrypted"):
        resolve_inputs(f"{path}!/{INIT}")


@pytest.mark.hard
def test_time_is_linear(tmp_path: Path) -> None:
    """Many members cost in proportion."""
    size = 2_000
    for count in (size, 2 * size):
        with zipfile.ZipFile(tmp_path / f"{count}.zip", "w") as archive:
            for number in range(count):
                archive.writestr(f"d{number % 7}/{number}.bin", b"")

    def ask(count: int) -> None:
        with pytest.raises(InputError, match="none of the"):
            resolve_inputs(str(tmp_path / f"{count}.zip"))

    assert_linear(ask, size)


def test_relative_paths() -> None:
    assert relative_path("/a/x.zip!/d/m.txt", "/a/x.zip") == "d/m.txt"
    assert relative_path("/a/x.zip!/d/m.txt", "/a/x.zip!/d") == "m.txt"
    assert relative_path("gs://b/d/m.txt", "gs://b/d/") == "m.txt"
    assert relative_path("a/b/m.txt", "a") == "b/m.txt"


class Counting(SimpleHTTPRequestHandler):
    """Serves a directory, and counts what is asked."""

    asked: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        self.asked[self.path] += 1
        super().do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    pytest.importorskip("aiohttp")
    pytest.importorskip("fsspec")
    Counting.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Counting, directory=str(DUMP.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what other tests have read."""
    monkeypatch.setattr(read, "_REMOTE", stores.Remote())
    monkeypatch.setattr(read, "_READ_ONCE", {})


def test_web_servers(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = answer(capsys, str(DUMP))
    assert answer(capsys, f"{address}/cpu.several") == expected
    texts = {path: count for path, count in Counting.asked.items() if path.endswith(".txt")}
    assert texts
    assert set(texts.values()) == {1}  # each is read once
    found = resolve_inputs(f"{address}/cpu.several/{INIT}").inputs[0]
    assert found.buffers is not None
    assert found.buffers.path.startswith(f"{address}/cpu.several/module_0000")
    assert run(["summary", f"{address}/cpu.several/none.txt"]) == 3
    assert "there is no such file" in capsys.readouterr().err
    assert run(["summary", "http://127.0.0.1:1/x.txt"]) == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_memory(capsys: pytest.CaptureFixture[str]) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    expected = answer(capsys, str(DUMP))
    for path in DUMP.iterdir():
        if path.is_file():
            system.pipe_file(f"/bucket/dump/{path.name}", path.read_bytes())
    system.pipe_file("/bucket/dump.tar.gz", gzip.compress(pack_tar(DUMP)))
    try:
        assert answer(capsys, "memory://bucket/dump") == expected
        assert (
            answer(capsys, "memory://bucket/dump/")
            .replace('DUMP/"', 'DUMP"')
            .replace("DUMP/ ", "DUMP ")
            == expected
        )
        assert answer(capsys, "memory://bucket/dump.tar.gz") == expected
        one = resolve_inputs(f"memory://bucket/dump/{INIT}").inputs[0]
        assert one.live_range is not None
        assert one.live_range.read().text
        assert run(["summary", "memory://bucket/none.txt"]) == 3
        assert "there is no such file" in capsys.readouterr().err
    finally:
        system.rm("/bucket", recursive=True)


def test_buckets(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A bucket of S3, of a server beside us; only where packages for both are installed."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        port = server.get_host_and_port()[1]
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "x")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        system = pytest.importorskip("fsspec").filesystem("s3")
        system.mkdir("bucket")
        for path in DUMP.iterdir():
            if path.is_file():
                system.pipe_file(f"bucket/dump/{path.name}", path.read_bytes())
        expected = answer(capsys, str(DUMP))
        assert answer(capsys, "s3://bucket/dump") == expected
        assert run(["summary", "s3://bucket/none.txt"]) == 3
        assert "there is no such file" in capsys.readouterr().err
    finally:
        server.stop()


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HlotoolError, match="nosuch"):
        resolve_inputs("nosuch://a/b")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'hlotool\[remote\]'"):
        resolve_inputs("gs://bucket/dump")
