"""Directories: each case of testdata/inputs/directories.cases describes one and what is in it."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pytest
from dump_files import SEEDS, SHARED, TESTDATA, find_folders, find_texts, needs_shared
from input_cases import DIRECTORIES, Directory, format_programs, write_directory

from hlotool.dump.directory import collect_programs
from hlotool.dump.files import DumpedProgram, DumpFile, Inputs
from hlotool.dump.find import resolve_inputs
from hlotool.dump.modules import HEAD_BYTES
from hlotool.dump.names import Stage, short_path
from hlotool.dump.siblings import NamedFiles
from hlotool.errors import InputError, NothingCheckedError, UsageError

HEADER = "HloModule jit_f, is_scheduled=true\n"


@pytest.mark.parametrize("case", DIRECTORIES.values(), ids=DIRECTORIES)
def test_programs_of_a_directory(case: Directory, tmp_path: Path) -> None:
    write_directory(case, tmp_path, padding="x" * HEAD_BYTES)
    programs, notes = collect_programs(str(tmp_path))
    assert format_programs(programs, str(tmp_path), notes) == case.expected


@pytest.mark.parametrize("case", DIRECTORIES.values(), ids=DIRECTORIES)
def test_no_file_is_in_two_programs(case: Directory, tmp_path: Path) -> None:
    write_directory(case, tmp_path)
    found = [file.path for each in collect_programs(str(tmp_path))[0] for file in _files(each)]
    assert found
    assert len(found) == len(set(found))


def _files(program: DumpedProgram) -> list[DumpFile]:
    """All files of a program but the options, which runs of one directory share."""
    read = [file for each in program.texts for file in each.files]
    return [*dict.fromkeys(read), *(each.file for each in program.passes), *program.others]


@pytest.mark.parametrize("case", DIRECTORIES.values(), ids=DIRECTORIES)
def test_compressed_files_make_no_difference(case: Directory, tmp_path: Path) -> None:
    write_directory(case, tmp_path, padding="x" * HEAD_BYTES)
    for each in list(tmp_path.rglob("*.txt")):
        each.with_name(f"{each.name}.gz").write_bytes(gzip.compress(each.read_bytes()))
        each.unlink()
    programs, notes = collect_programs(str(tmp_path))
    found = format_programs(programs, str(tmp_path), notes).replace(".txt.gz", ".txt")
    assert found == case.expected


@pytest.mark.parametrize("separator", [".", "_", "__", "-"])
def test_a_copy_with_a_prefix_gives_the_same_programs(separator: str, tmp_path: Path) -> None:
    """All cases with XLA's names, copied into one directory under a prefix each."""
    count = 0
    for case in DIRECTORIES.values():
        if not all(name.startswith("module_") and "/" not in name for name in case.files):
            continue
        count += case.expected.count(", number ")
        for name, text in case.files.items():
            copy = tmp_path / f"{case.name}{separator}{name}"
            copy.write_text(text.replace("@PADDING@", ""), encoding="utf-8")
    programs, _ = collect_programs(str(tmp_path))
    assert count > 10
    assert len(programs) == count


def test_stage_chooses(tmp_path: Path) -> None:
    write_directory(DIRECTORIES["plain_cpu"], tmp_path)
    (tmp_path / "own.hlo").write_text("ENTRY e { ROOT p = f32[] parameter(0) }", encoding="utf-8")

    def stages(choice: str) -> list[Stage | None]:
        return [each.stage for each in resolve_inputs(str(tmp_path), choice).inputs]  # type: ignore[arg-type]

    assert stages("before") == [None, Stage.BEFORE]
    assert stages("after") == [None, Stage.AFTER]
    assert stages("all") == [None, Stage.BEFORE, Stage.AFTER]
    before = resolve_inputs(str(tmp_path), "before").inputs[1]
    assert (before.buffers, before.values, before.live_range) == (None, None, None)


def test_the_default_stage_says_what_there_is_instead(tmp_path: Path) -> None:
    (tmp_path / "module_0000.jit_f.before_optimizations.txt").write_text("HloModule jit_f\n")
    with pytest.raises(
        InputError, match=r"no program has text from after .* 1 of 1 .*--stage before"
    ):
        resolve_inputs(str(tmp_path))


def test_module_pattern(tmp_path: Path) -> None:
    for name in ("jit_f", "jit_g"):
        text = f"HloModule {name}, is_scheduled=true\n"
        (tmp_path / f"module_0000.{name}.after_optimizations.txt").write_text(text)
    found = resolve_inputs(str(tmp_path), module_pattern="_g$")
    assert [each.name for each in found.inputs] == ["jit_g"]
    with pytest.raises(
        NothingCheckedError, match=r"'x' matches no module; there are: jit_f, jit_g\."
    ):
        resolve_inputs(str(tmp_path), module_pattern="x")
    with pytest.raises(UsageError, match="not a regular expression"):
        resolve_inputs(str(tmp_path), module_pattern="(")


def test_files_named_by_hand_do_not_go_with_a_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--buffers, --live-range and --module-text"):
        resolve_inputs(str(tmp_path), named=NamedFiles(buffers="x"))


def test_directories_without_programs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the directory is empty"):
        resolve_inputs(str(tmp_path))
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(InputError, match="the only file in this directory is not"):
        resolve_inputs(str(tmp_path))


def test_links_are_followed_once(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "module_0001.jit_g.after_optimizations.txt").write_text(HEADER)
    (tmp_path / "text").write_text(HEADER)
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / "module_0000.jit_f.after_optimizations.txt").symlink_to(tmp_path / "text")
    (dump / "linked").symlink_to(outside, target_is_directory=True)
    (dump / "linked_again").symlink_to(outside, target_is_directory=True)
    (outside / "back").symlink_to(dump, target_is_directory=True)
    (dump / "self").symlink_to("self")
    (dump / "gone").symlink_to("nowhere")
    os.mkfifo(dump / "module_0002.jit_f.after_optimizations.txt")
    assert [each.path for each in resolve_inputs(str(dump)).inputs] == [
        str(dump / "module_0000.jit_f.after_optimizations.txt"),
        str(dump / "linked" / "module_0001.jit_g.after_optimizations.txt"),
    ]


def test_programs_of_one_name_are_chosen_by_place(tmp_path: Path) -> None:
    for folder in ("old", "new"):
        for number in (1, 10):
            path = tmp_path / folder / f"module_{number:04}.jit_f.after_optimizations.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(HEADER)

    def chosen(module: str) -> list[str]:
        found = resolve_inputs(str(tmp_path), module_pattern=module)
        return [short_path(each.path, str(tmp_path)) for each in found.inputs]

    assert chosen("old #1") == ["old #1"]
    assert chosen("#1") == ["new #1", "old #1"]
    assert chosen("jit_f#10") == ["new #10", "old #10"]
    assert chosen("^old") == ["old #1", "old #10"]
    assert len(chosen("jit_f")) == 4
    with pytest.raises(NothingCheckedError):
        chosen("#2")


def test_depth_is_bounded(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(20):
        deep /= "d"
        deep.mkdir()
    (deep / "module_0000.jit_f.after_optimizations.txt").write_text(HEADER)
    with pytest.raises(InputError, match="the directory is empty"):
        resolve_inputs(str(tmp_path))
    assert resolve_inputs(str(deep)).inputs


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlotool.dump.directory.MAX_FILES", 3)
    for number in range(4):
        (tmp_path / f"{number}").touch()
    with pytest.raises(InputError, match="more than 3 files"):
        resolve_inputs(str(tmp_path))


def test_a_plain_file_wins_over_its_compressed_copy(tmp_path: Path) -> None:
    text = tmp_path / "module_0000.jit_f.after_optimizations.txt"
    text.write_text(HEADER)
    Path(f"{text}.gz").write_bytes(gzip.compress(HEADER.encode()))
    assert [each.path for each in resolve_inputs(str(tmp_path)).inputs] == [str(text)]


def test_the_file_read_is_checked_again(tmp_path: Path) -> None:
    """A text in the place of a module is an error of its row, not of the directory."""
    write_directory(DIRECTORIES["broken_text"], tmp_path)
    first, second = resolve_inputs(str(tmp_path)).inputs
    assert first.module
    assert second.module
    with pytest.raises(InputError, match="expected the text of an HLO module, but this is MLIR"):
        first.module.read()
    assert second.module.read().text.startswith("HloModule jit_g")


OWN, OTHERS = TESTDATA / "folders", SHARED / "dumps" / "folders"


@pytest.mark.parametrize(
    ("folder", "passes", "others"),
    [
        (OWN / "cpu.short", 0, 0),
        (OWN / "cpu.passes", 21, 0),
        (OWN / "gpu_h100.timestamp", 0, 1),
        (OWN / "tpu_v5e.plain", 0, 3),
        pytest.param(OTHERS / "cpu.plain", 0, 0, marks=needs_shared),
        pytest.param(OTHERS / "cpu.passes", 31, 0, marks=needs_shared),
        pytest.param(OTHERS / "gpu_h100.timestamp", 0, 1, marks=needs_shared),
        pytest.param(OTHERS / "tpu_v5e.plain", 0, 3, marks=needs_shared),
    ],
)
def test_whole_directories_of_xla(folder: Path, passes: int, others: int) -> None:
    (program,), notes = collect_programs(str(folder))
    assert not notes
    name = "jit_affine" if folder.parent == OWN else "jit_train_step"
    assert (program.name, len(program.passes), len(program.others)) == (name, passes, others)
    assert [each.name.step for each in program.passes] == list(range(passes))
    before, after = program.texts
    files = [before.module, after.module, after.buffers, after.values, after.live_range]
    for file in [*files, after.debug_options, *program.others]:
        assert file
        file.read()


def test_a_directory_of_several_programs() -> None:
    programs, notes = collect_programs(str(OWN / "cpu.several"))
    assert [one.name for one in programs] == ["jit_init", "jit_train_step", "jit_evaluate"]
    assert not notes


@pytest.mark.parametrize("separator", [".", "__"])
def test_dumps_flattened(separator: str, tmp_path: Path) -> None:
    """Every program of the dumps, once, with the files of its own folder."""
    count = 0
    for folder in find_folders():
        count += len(find_texts(folder))
        for path in folder.glob("module_*"):
            root = "shared" if folder.is_relative_to(SHARED) else "own"
            name = separator.join([root, folder.parent.name, folder.name, path.name])
            shutil.copy(path, tmp_path / name)
    found = resolve_inputs(str(tmp_path), "all").inputs
    assert len(found) == count > 50
    for each in found:
        prefix = Path(each.path).name.split("module_")[0]
        assert all(Path(file.path).name.startswith(prefix) for file in each.files)
        expected = 2 if "0.4.30" in prefix or "0.7.2" in prefix else 4
        assert len(each.files) == (1 if each.stage is Stage.BEFORE else expected)


def test_names_that_say_nothing(tmp_path: Path) -> None:
    """One buffer assignment is of a module that is there, one only of its like."""
    folders = TESTDATA / "dumps" / "cpu_jax_0.4.30"
    for number, program in ((0, "mlp_train"), (2, "nested_loops")):
        assignment, text = sorted((folders / program).glob("module_*"))
        shutil.copy(text, tmp_path / f"00{number}_a1b2.txt")
        shutil.copy(assignment, tmp_path / f"00{number + 1}_c3d4.txt")
    other = tmp_path / "000_a1b2.txt"
    other.write_text(other.read_text("utf-8").replace("f32[512,10]", "f32[256,10]"), "utf-8")
    found = resolve_inputs(str(tmp_path))
    assert name_pairs(found) == [("000", None), (None, "001"), ("002", "003")]
    assert len(found.notes) == 1


@needs_shared
def test_dumps_of_users() -> None:
    found = resolve_inputs(str(SEEDS))
    assert name_pairs(found) == [("000", None), (None, "001"), ("002", None), ("003", "004")]
    assert len(found.notes) == 1


def name_pairs(found: Inputs) -> list[tuple[str | None, ...]]:
    """List module and buffer assignment of each input, by the first letters of their names."""
    return [
        tuple(Path(file.path).name[:3] if file else None for file in (each.module, each.buffers))
        for each in found.inputs
    ]
