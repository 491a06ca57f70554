"""Which program is which: keys and fingerprints, and what programs are called."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from dump_files import ROOT
from hypothesis import given
from hypothesis import strategies as st
from same_names import rename, unique

import hlotool
from hlotool.dump.find import resolve_inputs, resolve_text
from hlotool.dump.identity import Named, find_folder, name_programs, read_arguments

TEXT = next((ROOT / "testdata/dumps/gpu_h100/mlp_train").glob("*gpu_after_optimizations.txt"))
PRINTED = ROOT / "testdata" / "printed"


def read_identity(text: str) -> tuple[object, object]:
    """Return the arguments and the fingerprint of a text."""
    return read_arguments(resolve_text(text).inputs[0]), hlotool.load(text).program.fingerprint


def strip_sources(text: str) -> str:
    return re.sub(r" (?:source_file=\"[^\"]*\"|(?:source_line|stack_frame_id)=\d+)", "", text)


def renumber(text: str) -> str:
    """Give channels other numbers, in the order of the text."""
    numbers = count(1000)
    return re.sub(r"channel_id=\d+", lambda _: f"channel_id={next(numbers)}", text)


@pytest.mark.parametrize(
    "change",
    [lambda text: rename(text, unique()), strip_sources, renumber],
    ids=["names", "sources", "ids"],
)
@pytest.mark.parametrize("name", ["gpu_h100/mlp_train", "cpu/pipeline", "tpu_v5e/scan_train"])
def test_what_numbers_and_notes_say_is_no_part(change: Callable[[str], str], name: str) -> None:
    path = next((ROOT / "testdata/dumps" / name).glob("*after_optimizations.txt"))
    text = path.read_text("utf-8")
    assert read_identity(change(text)) == read_identity(text)


def test_a_proto_and_every_print_with_all_of_a_program_are_one() -> None:
    """Left out are six styles that cannot be read alone, and the one without constants.

    Names of arguments are metadata, which some leave out.
    """
    prints, keys = {}, {}
    for path in sorted(PRINTED.glob("*.txt")):
        style = path.name.split(".")[2]
        try:
            prints[style] = hlotool.load(path).program.fingerprint
        except hlotool.HlotoolError:
            continue
        keys[style] = read_arguments(resolve_inputs(str(path)).inputs[0])
    bare = ("canonical", "fingerprint", "no_metadata", "short_parsable")
    assert {keys.pop(one) for one in bare} == {("f32[8,12]",)}
    assert set(keys.values()) == {("x f32[8,12]",)}
    assert prints.pop("fingerprint") != prints["default"]
    assert len(prints) == 12
    assert len(set(prints.values())) == 1
    folder = ROOT / "testdata" / "protos"
    for name in ("async_collectives", "all_shardings", "attributes"):
        paths = [folder / f"{name}{kind}" for kind in (".hlo.pb.gz", ".txt")]
        proto, text = (hlotool.load(path).program.fingerprint for path in paths)
        assert proto == text
        first, second = (read_arguments(resolve_inputs(str(path)).inputs[0]) for path in paths)
        assert first == second is not None


def test_what_a_program_computes_is_a_part() -> None:
    text = TEXT.read_text("utf-8")
    changed = text.replace("maximum(", "minimum(", 1)
    assert changed != text
    assert read_identity(changed)[1] != read_identity(text)[1]
    assert read_identity(text)[0] == (
        "layers 4 arrays 44377889",
        "images f32[128,784]",
        "labels s32[128]",
    )


def test_the_key_has_whole_shapes_and_no_number(tmp_path: Path) -> None:
    source = ROOT / "testdata/dumps/cpu/pipeline"
    for folder, number in (("a", "0000"), ("b/c", "0038")):
        (tmp_path / folder).mkdir(parents=True)
        for file in source.glob("module_*"):
            shutil.copy(file, tmp_path / folder / f"179523622112826{number}.{file.name}")
    found = resolve_inputs(str(tmp_path)).inputs
    assert [find_folder(one, str(tmp_path)) for one in found] == ["a", "b/c"]
    first, second = map(read_arguments, found)
    assert first == second
    alone = resolve_inputs(str(next(source.glob("*after_optimizations.txt")))).inputs[0]
    assert read_arguments(alone) == first


def test_folders_that_xla_makes_are_no_part(tmp_path: Path) -> None:
    """`--xla_dump_hlo_to_subfolder` makes MODULE/HOST_PROCESS."""
    folder = tmp_path / "eval" / "jit_train_step" / "worker-3_12345"
    folder.mkdir(parents=True)
    shutil.copy(TEXT, folder)
    (one,) = resolve_inputs(str(tmp_path)).inputs
    assert find_folder(one, str(tmp_path)) == "eval"


ARGUMENT = st.sampled_from(
    ["x f32[8,4]", "x f32[16,4]", "x bf16[8,4]", "s f32[]", "w 3 arrays 0a", ""]
)
PROGRAM = st.tuples(
    st.sampled_from(["f", "g", ""]),
    st.sampled_from(["", "a", "a/b"]),
    st.sampled_from(["#1", "a #1", "a/b #2"]),
    st.none() | st.lists(ARGUMENT, max_size=3).map(tuple),
)


@given(st.lists(PROGRAM, min_size=1, max_size=8))
def test_no_two_programs_have_one_name(
    programs: list[tuple[str, str, str, tuple[str, ...] | None]],
) -> None:
    named = [Named(*one[:3], partial(tuple, one[3] or ())) for one in programs]
    names = name_programs(named)
    assert len(set(names)) == len(programs)
    assert name_programs(named[:1]) == [programs[0][0] or programs[0][2]]


def test_names_are_as_short_as_they_can_be() -> None:
    def call(*programs: tuple[str, str, tuple[str, ...]]) -> list[str]:
        given = [Named(name, folder, "#1", partial(tuple, one)) for name, folder, one in programs]
        return name_programs(given)

    small, large = ("w 4 arrays 1a", "tokens s32[8,1024]"), ("w 4 arrays 1a", "tokens s32[16,1024]")
    assert call(("f", "a", small), ("g", "a", small)) == ["f", "g"]
    assert call(("f", "a", small), ("f", "b", small)) == ["a/f", "b/f"]
    assert call(("f", "a", small), ("f", "a", large)) == ["f (tokens 8×1024)", "f (tokens 16×1024)"]
    half = ("w 4 arrays 1a", "tokens s8[8,1024]")
    assert call(("f", "", small), ("f", "", half)) == [
        "f (tokens s32 8×1024)",
        "f (tokens s8 8×1024)",
    ]
    assert call(("f", "a", small), ("f", "a", small)) == ["f #1 (1)", "f #1 (2)"]
