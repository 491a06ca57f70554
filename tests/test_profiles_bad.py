"""Bad profiles: cut off, foreign, hostile, without devices; a sentence each, in linear time."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from pathlib import Path

import pytest
from linear import assert_linear
from profile_builder import GPU, TPU, Event, Plane, Stat, metadata, number, text, varint
from test_profiles import FILE, LABEL, stream, tpu

import hlotool
from hlotool.dump.find import resolve_inputs
from hlotool.errors import HlotoolError, InputError
from hlotool.proto.kind import is_profile, list_fields, write_field

DATA = gzip.decompress(FILE.read_bytes())
SMALL = metadata((LABEL, TPU)) + tpu(0).to_bytes()


def refuse(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        resolve_inputs(str(path if is_profile(data) else tmp_path))
    assert str(error.value).startswith(str(path))
    return str(error.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "none of its planes holds the HLO of a program"),
        (DATA[:-5], "the profile is broken at byte"),
        (DATA[: len(DATA) // 2], "the profile is broken at byte "),
        (b"\x0a\x7fHlo", "the profile is broken at byte 0 of 5"),
        (b"module", "the profile is broken at byte 5 of 6"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x12\x01a", "it is 9,223,372,036,854,775,807"),
        (b"\x0a" + b"\xff" * 40, "a number has too many digits"),
        (write_field(1, text(2, "/host:CPU")), "none of its planes holds the HLO of a program"),
        (write_field(1, text(2, "/device:GPU:0")), "none of its planes holds the HLO"),
        (number(5, 1), "none of its planes holds the HLO of a program"),
        (metadata(("jit_f(1)", b"")), "none of its planes holds the HLO of a program"),
    ],
)
def test_what_is_said(data: bytes, words: str, tmp_path: Path) -> None:
    assert words in refuse(tmp_path, data)


def test_the_byte_is_that_of_the_file(tmp_path: Path) -> None:
    """An event whose length leads out of its line is found where it stands."""
    data = bytearray(SMALL)
    line = write_field(4, b"\x08\x01")
    place = data.rindex(b"\x22")
    plane = Plane("/device:TPU:0").to_bytes()
    broken = write_field(1, text(2, "/device:TPU:0") + write_field(3, line + b"\x22\x7f\x08"))
    told = refuse(tmp_path, bytes(data) + broken)
    expected = len(data) + len(broken) - 3
    assert f"broken at byte {expected:,} of {len(data) + len(broken):,}" in told
    assert place > 0
    assert is_profile(plane)


def test_programs_without_times_are_read(tmp_path: Path) -> None:
    """The HLO is there, so all but times is known."""
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(metadata(("jit_loop(7)", GPU)) + Plane("/host:CPU").to_bytes())
    for given in (path, tmp_path):
        (note,) = resolve_inputs(str(given)).notes
        assert "there are no planes of devices, and nothing is measured" in note
    dump = hlotool.load(path)
    assert dump.program.measured is None
    assert dump.fusions().totals.fusion_count


def test_a_broken_profile_costs_its_run_alone(tmp_path: Path) -> None:
    for name, data in (("a", DATA), ("b", DATA[:-9])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "h.xplane.pb").write_bytes(data)
    found = resolve_inputs(str(tmp_path))
    assert len(found.inputs) == 1
    assert any("b/h.xplane.pb: the profile is broken" in note for note in found.notes)
    (tmp_path / "a/h.xplane.pb").unlink()
    with pytest.raises(InputError, match="broken at byte"):
        resolve_inputs(str(tmp_path))


def test_a_broken_program_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(metadata(("jit_a(1)", GPU[:-7]), ("jit_loop(7)", GPU)) + stream(0).to_bytes())
    assert {row.error is None for row in hlotool.summarize(path)} == {True, False}


def strange(ids: int) -> bytes:
    """Return a plane whose events name what is not there, before time and after it."""
    most = (1 << 63) - 1
    marks: dict[str, Stat] = {"hlo_op": "fusion.2", "program_id": 7, "run_id": ids}
    plane = Plane("/device:GPU:0", {"s": [Event("x", 0, 1, marks)]}).to_bytes()
    body = text(2, "/device:GPU:0") + write_field(
        3,
        number(3, ids)
        + write_field(4, number(1, ids) + number(2, most) + number(3, most))
        + write_field(4, number(1, 1) + number(2, -most) + number(3, -most))
        + write_field(4, number(1, 1) + write_field(4, number(1, ids) + number(7, ids))),
    )
    return plane + write_field(1, body)


@pytest.mark.parametrize("ids", [0, -1, 1 << 62, (1 << 63) - 1, -(1 << 63)])
def test_strange_numbers(ids: int, tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(metadata(("jit_loop(7)", GPU)) + strange(ids))
    dump = hlotool.load(path)
    assert dump.program.measured is not None
    assert dump.summary().measured is not None


def list_places(data: bytes) -> list[int]:
    """Return the offsets of tags and lengths: of planes, and of what stands in them."""
    places = []
    for plane in list_fields(data, 0, len(data)):
        places += [plane.tag, plane.tag + 1]
        places += [at for each in list_fields(data, plane.begin, plane.end) for at in (each.tag,)]
    return places


@pytest.mark.hard
def test_mutants_are_read_or_refused() -> None:
    """A changed byte, a cut, a doubled piece: an answer or an error of ours."""
    choose = random.Random(17)  # noqa: S311
    places = list_places(SMALL)
    for _ in range(3000):
        data = bytearray(SMALL)
        for _ in range(choose.randint(1, 3)):
            at = choose.choice(places) if choose.random() < 0.5 else choose.randrange(len(data))
            kind = choose.randrange(4)
            if kind == 0:
                data[at] = choose.randrange(256)
            elif kind == 1:
                del data[at : at + choose.randint(1, 9)]
            elif kind == 2:
                data[at:at] = varint(choose.getrandbits(64))
            else:
                data[at:at] = data[at : at + choose.randint(1, 99)]
            data = data or bytearray(b"\x0a")
            places = [min(each, len(data) - 1) for each in places]
        try_to_read(bytes(data))
        places = list_places(SMALL)


def try_to_read(data: bytes) -> None:
    from hlotool.dump.budget import DEFAULT_BUDGET  # noqa: PLC0415
    from hlotool.dump.directory import list_in_profile  # noqa: PLC0415

    try:
        list_in_profile("a.xplane.pb", data, DEFAULT_BUDGET)
    except HlotoolError as error:
        assert str(error).startswith("a.xplane.pb")  # noqa: PT017


def make_large(count: int) -> bytes:
    """Return a profile of so many events, each as small as events are."""
    name = number(1, 1) + write_field(2, number(1, 1) + text(2, "fusion.13"))
    events = b"".join(
        write_field(4, number(1, 1) + number(2, 9_000_000 * each) + number(3, 2_000_000 + each))
        for each in range(count)
    )
    line = text(2, "XLA Ops") + number(3, 5) + events
    run = text(2, "XLA Modules") + number(3, 5)
    run += write_field(4, number(1, 2) + number(3, 9_000_000 * count))
    label = number(1, 2) + write_field(2, number(1, 2) + text(2, LABEL))
    body = text(2, "/device:TPU:0") + write_field(3, run) + write_field(3, line)
    body += write_field(4, name) + write_field(4, label)
    return metadata((LABEL, TPU)) + write_field(1, body)


@pytest.mark.hard
def test_large_profiles_take_linear_time_and_little_memory(tmp_path: Path) -> None:
    def path(count: int) -> Path:
        return tmp_path / f"{count}.xplane.pb"

    def ask(count: int) -> None:
        measured = resolve_inputs(str(path(count))).inputs[0].measured
        assert measured is not None
        assert measured.times["fusion.13"].count == count

    size = 10_000
    for count in (size, 2 * size):
        path(count).write_bytes(make_large(count))
    assert_linear(ask, size)
    tracemalloc.start()
    ask(2 * size)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 5 * path(2 * size).stat().st_size
