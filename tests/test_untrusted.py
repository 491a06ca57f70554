"""Inputs are not trusted: what may come of a file, which addresses are asked, and what is told."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

import hlotool
from hlotool.cli import run
from hlotool.dump import read
from hlotool.dump.budget import ByteBudget
from hlotool.dump.find import resolve_inputs
from hlotool.dump.stores import Remote
from hlotool.errors import BudgetError, HlotoolError, InputError, UsageError
from hlotool.table.terminal import quote_markdown
from hlotool.text import cut_secrets

ROOT = Path(__file__).resolve().parents[1]
TEXT = b"HloModule m\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"
STEP = ROOT / "testdata" / "folders" / "cpu.several"
INIT = STEP / "module_0000.jit_init.cpu_after_optimizations.txt"
MIB = 1 << 20


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what other tests have read."""
    monkeypatch.setattr(read, "_REMOTE", Remote())


# What may come of a file.


def tar_of(name: str, data: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def zip_of(name: str, data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return made.getvalue()


def lying_zip(name: str, data: bytes) -> bytes:
    """Return a zip that says of its member that it is small."""
    size = len(data).to_bytes(4, "little")
    return zip_of(name, data).replace(size, (99).to_bytes(4, "little"))


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").compress(data)  # type: ignore[no-any-return]


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "m.txt.gz": gzip.compress,
    "m.txt.bz2": bz2.compress,
    "m.txt.xz": lzma.compress,
    "m.txt.zst": zstd,
    "m.zip": lambda data: zip_of("m.txt", data),
    "m.tar.gz": lambda data: gzip.compress(tar_of("m.txt", data)),
    "m.tar.zst": lambda data: zstd(tar_of("m.txt", data)),
    "twice.zip": lambda data: zip_of("m.txt.gz", gzip.compress(data)),
    "twice.tar": lambda data: tar_of("m.txt.bz2", bz2.compress(data)),
    "twice.tar.gz": lambda data: gzip.compress(tar_of("m.txt.zst", zstd(data))),
}
QUICK = ("m.txt.zst", "m.zip")  # the others take long
REFUSED = "this file unpacks to more than 64.0 MiB"
PEAK = """
import sys
from hlotool.cli import run
code = run(sys.argv[1:])
# What getrusage tells is that of the parent too, before this program began.
(peak,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak) * 1024, file=sys.stderr)
sys.exit(code)
"""


def peak_bytes(*words: str) -> tuple[int, int, str]:
    """Run hlotool in a process of its own; return exit code, peak memory, and stderr."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    *said, peak = done.stderr.splitlines()
    return done.returncode, int(peak), "\n".join(said)


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """Return what begins as a module, and goes on for long."""
    return TEXT + b" " * (300 * MIB)


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=pytest.mark.hard) if one not in QUICK else one for one in PACKED],
)
def test_memory_stays_below_the_budget(name: str, bomb: bytes, tmp_path: Path) -> None:
    plain = tmp_path / f"plain.{name}"
    plain.write_bytes(PACKED[name](TEXT))
    code, own, said = peak_bytes("summary", str(plain), "--max-unpacked", "64MiB")
    assert code == 0, said
    path = tmp_path / name
    path.write_bytes(PACKED[name](bomb))
    assert path.stat().st_size < MIB
    code, peak, said = peak_bytes("summary", str(path), "--max-unpacked", "64MiB")
    assert code == 3
    assert said.count(REFUSED) == 1
    assert peak - own < (64 + 40) * MIB  # what is in hand, and holes between it


def test_without_the_option_the_limit_goes_by_the_size(bomb: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.txt.zst"
    path.write_bytes(zstd(bomb))
    code, peak, said = peak_bytes("summary", str(path))
    assert code == 3
    assert said.startswith(f"hlotool: {path}: this file unpacks to more than 256.0 MiB")
    assert peak < (256 + 64) * MIB  # Python, and what is imported
    allowance = ByteBudget().allow("x", MIB)
    allowance.count("x", 1_000 * MIB)
    with pytest.raises(BudgetError, match=r"more than 1000\.0 MiB"):
        allowance.count("y", 1)


def test_a_zip_that_lies_gives_no_more_than_it_says(bomb: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.zip"
    path.write_bytes(lying_zip("m.txt", bomb))
    own = peak_bytes("summary", str(STEP))[1]
    code, peak, said = peak_bytes("summary", str(path))
    assert code == 3, said
    assert peak - own < 16 * MIB


def test_one_that_is_too_large_costs_itself_alone(tmp_path: Path) -> None:
    """What is refused counts no longer, and what is read again counts once."""
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large.txt", TEXT + b"// more\n" * 4_000)
        for name in "xyz":
            archive.writestr(f"{name}.txt.gz", gzip.compress(TEXT))
    budget = ByteBudget(8_000)
    found = resolve_inputs(str(path), budget=budget)
    large, *small = (each.module for each in found.inputs)
    assert large is not None
    for _ in range(50):
        with pytest.raises(BudgetError):
            large.read()
        assert [each.read().text.encode() for each in small if each] == [TEXT] * 3
    with pytest.raises(BudgetError, match=r"more than 2\.0 KiB"):
        read.read_source(f"{path}!/large.txt", ByteBudget(2_048))


CHECKED = ["check", "--budget", "module.instruction_count >= 0"]


@pytest.mark.parametrize("words", [["summary"], CHECKED])
def test_the_option_holds_for_all_that_is_read(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a file, of what stands beside it, in an archive, and in a directory."""
    folder = tmp_path / "dump"
    folder.mkdir()
    for each in STEP.iterdir():
        if each.is_file():
            (folder / f"{each.name}.gz").write_bytes(gzip.compress(each.read_bytes()))
    one = folder / f"{INIT.name}.gz"
    packed = tmp_path / "dump.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(folder, ".")
    for path in (one, folder, packed, f"{packed}!/{one.name}"):
        assert run([*words, str(path), "--max-unpacked", "1KiB"]) == 3, path
        told = capsys.readouterr()
        assert "allow more with --max-unpacked SIZE" in told.err + told.out
        assert run([*words, str(path)]) == 0
        capsys.readouterr()
    assert run(["diff", str(one), str(INIT), "--max-unpacked", "1KiB"]) == 3
    assert "allow more with --max-unpacked SIZE" in capsys.readouterr().err
    with pytest.raises(BudgetError, match=r"more than 1\.0 KiB"):
        hlotool.load(one, max_unpacked_bytes=1_024)
    (row,) = hlotool.summarize(one, max_unpacked_bytes=1_024)
    assert row.error is not None


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_that_unpack_at_once_are_refused(kind: int, tmp_path: Path) -> None:
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("m.txt", TEXT)
    with pytest.raises(InputError, match="compression is not supported"):
        resolve_inputs(f"{path}!/m.txt")


# Which addresses are asked.


class Server(BaseHTTPRequestHandler):
    """Answers every question with a text, and keeps what it was asked."""

    asked: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization")))
        self.send_response(404 if "none" in self.path else 200)
        self.end_headers()  # and no length
        is_endless = self.path.endswith(("endless", "endless.txt"))  # a page of links, or a text
        data = TEXT * 30_000 if is_endless else TEXT
        try:
            for _ in range(10_000 if is_endless else 1):
                self.wfile.write(data)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def host() -> Iterator[str]:
    pytest.importorskip("aiohttp")
    pytest.importorskip("fsspec")
    Server.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "address",
    [
        "simplecache::http://HOST/m.txt",
        "filecache::http://HOST/m.txt",
        "blockcache::http://HOST/m.txt",
        "zip://m.txt::simplecache::http://HOST/m.zip",
        "zip://m.txt::simplecache://HOST/m.zip",
        "sftp://HOST/m.txt",
        "ssh://HOST/m.txt",
        "github://owner:repository@main/m.txt",
        "reference://HOST/m.txt",
        "ftp://HOST/m.txt",
        "nosuch://HOST/m.txt",
    ],
)
def test_other_protocols_are_refused(
    address: str, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["summary", address.replace("HOST", host)]) == 2
    told = capsys.readouterr().err
    assert "hlotool reads file, http, https, gs, s3, az, zip, tar, memory." in told
    assert told.count("\n") == 1
    assert not Server.asked


def test_a_member_of_a_chain_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fsspec")
    path = tmp_path / "m.zip"
    path.write_bytes(zip_of("m.txt", TEXT))
    assert run(["summary", f"zip://m.txt::file://{path}", "--json"]) == 0
    path.write_bytes(zip_of("n.txt", TEXT + b"// more\n" * 10_000))
    assert run(["summary", f"zip://n.txt::file://{path}", "--max-unpacked", "16KiB"]) == 3
    assert "this file unpacks to more than 16.0 KiB" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["m.txt", "none.txt", "endless.txt", "none.txt?sig=abc", "endless/m.txt"]
)
def test_nothing_is_left_of_what_was_fetched(name: str, host: str, tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "hlotool", "summary", f"http://{host}/{name}"),
            *("--max-unpacked", "16MiB"),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == (0 if name.endswith("m.txt") else 3)
    assert ("this file unpacks to more than 16.0 MiB" in done.stderr) == (name == "endless.txt")
    assert not list(folder.iterdir())


# What only a file names is not fetched.


def test_an_address_in_a_configuration_is_refused(
    host: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    budget = '[[budget]]\nmetric = "module.instruction_count"\nmax_increase = "2%"\n'
    Path("m.txt").write_bytes(TEXT)
    for place in ("hlotool.toml", "below/hlotool.toml"):
        Path(place).parent.mkdir(exist_ok=True)
        Path(place).write_text(f'baseline = "http://u:p@{host}/m.txt?sig=abc"\n{budget}')
        assert run(["check", "m.txt", "--config", place]) == 2
        told = capsys.readouterr().err
        assert f"type --baseline http://{host}/m.txt." in told
        assert told.startswith(f"hlotool: {place}: ")
        assert not Server.asked
    # That is what the user may do.
    assert run(["check", "m.txt", "--baseline", f"http://u:p@{host}/m.txt?sig=abc"]) == 0
    assert ("/m.txt?sig=abc", "Basic dTpw") in Server.asked


def test_addresses_in_saved_answers_are_not_asked(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paths in a baseline, a saved summary of either kind, and a history are words."""
    there = f"http://{host}/m.txt"
    assert run(["summary", str(STEP), "--json"]) == 0
    folder = json.loads(capsys.readouterr().out)
    for row in folder["modules"]:
        row["path"] = there
    assert run(["summary", str(STEP), "--module", "init", "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    one["input"] = dict.fromkeys(one["input"], there)
    for number, document in enumerate((folder, one)):
        saved = tmp_path / f"{number}.json"
        saved.write_text(json.dumps(document))
        run(["diff", str(saved), str(STEP), "--json"])
        run(["check", str(STEP), "--baseline", str(saved), "--budget", "1 > 0", "--json"])
    history = tmp_path / "history.jsonl"
    run(["check", str(STEP), "--history", str(history)])
    lines = [json.loads(line) for line in history.read_text().splitlines()]
    assert not [key for line in lines for key in line if "path" in key]
    assert not Server.asked


# What is told.

SECRETS = re.compile("user|s3cr3t|word|sig|token")


@pytest.mark.parametrize(
    "words",
    [
        ["summary", "ADDRESS"],
        ["summary", "ADDRESS", "--json"],
        ["summary", "MISSING"],
        ["text", "ADDRESS"],
        ["buffers", "ADDRESS", "--format", "markdown"],
        ["diff", "ADDRESS", "OTHER", "--json"],
        ["diff", "old=ADDRESS", "OTHER", "ADDRESS"],
        ["diff", "--text", "ADDRESS", "OTHER"],
        ["diff", "--passes", "ADDRESS"],
        ["check", "ADDRESS", "--budget", "module.instruction_count > 0", "--format", "github"],
        ["check", "ADDRESS", "--budget", "module.instruction_count > 0", "--format", "sarif"],
        ["check", "ADDRESS", "--config", "BUDGETS"],
        ["check", "--trend", "--history", "ADDRESS"],
        ["check", "ADDRESS", "--history", "history.jsonl"],
        ["report", "ADDRESS", "-o", "page.html"],
        ["report", "ADDRESS", "OTHER", "-o", "page.html"],
        ["summary", "STEP", "--buffers", "ADDRESS"],
        ["summary", "STEP", "ADDRESS"],
        ["summary", "--nosuch=ADDRESS", "STEP"],
        ["summary", "simplecache::ADDRESS"],
        ["summary", "zip://m.txt::ADDRESS"],
        ["summary", "ADDRESS", "--config", "ADDRESS"],
        ["summary", "ADDRESS", "OTHER", "--json"],  # too many: click quotes it
        ["summary", "MISSING", "--format=json"],
    ],
    ids=" ".join,
)
def test_secrets_of_addresses_are_told_nowhere(
    words: list[str],
    host: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    budget = '[[budget]]\nmetric = "module.instruction_count"\nmax_increase = "2%"\n'
    Path("budgets.toml").write_text(budget)
    meant = {
        "ADDRESS": f"http://user:s3cr3t%20word@{host}/a/m.txt?sig=1&token=2#sig",
        "OTHER": f"http://user:s3cr3t%20word@{host}/a/n.txt?sig=3",
        "MISSING": f"http://user:s3cr3t%20word@{host}/a/none.txt?sig=3",
        "STEP": str(INIT),
        "BUDGETS": "budgets.toml",
    }
    pattern = re.compile("|".join(meant))
    code = run([pattern.sub(lambda found: meant[found[0]], word) for word in words])
    told = capsys.readouterr()
    written = [each.read_text() for each in tmp_path.iterdir()]
    assert code != 70
    for text in (told.out, told.err, *written):
        # Of a page, what the program is called and where it lies; not what it is drawn with.
        seen = [found for found in re.findall(r"http://[^\s<\"]*", text) if host in found]
        assert not [found for found in seen if SECRETS.search(found)]
        assert "s3cr3t" not in text
        assert "sig=" not in text
    if words[:2] == ["summary", "ADDRESS"] and "OTHER" not in words:
        assert Server.asked[0] == ("/a/m.txt?sig=1&token=2", "Basic dXNlcjpzM2NyM3Qgd29yZA==")


def test_addresses_that_differ_in_their_query_are_two_files() -> None:
    remote = Remote()
    typed = [f"https://u:p@h/m.txt?v={number}" for number in (1, 2)]
    shown = [remote.hide(each) for each in (*typed, typed[0])]
    assert shown == ["https://h/m.txt", "https://h/m.txt?2", "https://h/m.txt"]
    assert [remote.reveal(each) for each in shown] == [*typed, typed[0]]
    assert remote.reveal("https://h/n.txt") == "https://u:p@h/n.txt"
    assert remote.reveal("https://other/n.txt") == "https://other/n.txt"
    assert remote.hide("zip://a::https://u:p@g/m.zip?v=1") == "zip://a::https://g/m.zip"
    assert remote.reveal("zip://a::https://g/m.zip") == "zip://a::https://u:p@g/m.zip?v=1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'https://u:p@h/x?sig=1' is", "'https://h/x' is"),
        ("zip://a::https://u:p@h/x?sig=1", "zip://a::https://h/x"),
        ("is it x? y@z: https://h/x.", "is it x? y@z: https://h/x."),
        ("https://u@v@h?a=b c", "https://h c"),
    ],
)
def test_secrets_in_the_words_of_others(text: str, expected: str) -> None:
    assert cut_secrets(text) == expected


def test_errors_of_the_library_hold_no_secrets(host: str) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(HlotoolError) as caught:
        hlotool.load(f"http://user:s3cr3t@{host}.invalid:1:2/m.txt?sig=1")
    assert not SECRETS.search(str(caught.value))
    with pytest.raises(UsageError):
        hlotool.load("sftp://h/m.txt")


# Names that are links, and files that are empty.


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("[x](https://h)", r"\[x\](https\://h)"),
        ("![x](http://h)", r"!\[x\](http\://h)"),
        ("<https://h>", r"\<https\://h\>"),
        ("www.h.org", r"www\.h.org"),
        ("a::b", "a::b"),
    ],
)
def test_a_name_is_no_link_in_markdown(name: str, expected: str) -> None:
    assert quote_markdown(name) == expected


def test_a_name_is_no_link_in_sarif(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.txt"
    path.write_bytes(TEXT)
    config = tmp_path / "hlotool.toml"
    config.write_text(
        '[[budget]]\nexpression = "module.instruction_count > 9"\nmessage = "[x](https://h)"\n'
    )
    assert run(["check", str(path), "--config", str(config), "--format", "sarif"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert r"[x]\(https://h)" in result["message"]["text"]


def test_what_fails_leaves_no_empty_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in "ab":
        (broken / f"{name}.txt").write_bytes(TEXT[:-3])
    cache, history = tmp_path / "rows.jsonl", tmp_path / "history.jsonl"
    assert run(["summary", str(broken), "--cache", str(cache)]) == 3
    assert not cache.exists()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    assert run(["check", str(STEP), "--history", str(history)]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["broken"]
    history.touch()  # the user's own stays
    assert run(["check", str(STEP), "--history", str(history)]) == 2
    assert history.exists()


def test_any_file_tells_rows_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout changes from one hour to the next, and its version does not."""
    from hlotool.program import fleet  # noqa: PLC0415

    package = tmp_path / "hlotool"
    (package / "program").mkdir(parents=True)
    (package / "chips.toml").write_text("a = 1")
    monkeypatch.setattr(fleet, "__file__", str(package / "program" / "fleet.py"))
    hashes = []
    for text in ("1", "2", "1"):
        (package / "program" / "fleet.py").write_text(text)
        hashes.append(fleet.hash_code.__wrapped__())
    (package / "chips.toml").write_text("a = 2")
    hashes.append(fleet.hash_code.__wrapped__())
    assert hashes[0] == hashes[2]
    assert len(set(hashes)) == 3
