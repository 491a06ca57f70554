"""The Python API, and the examples of docs/api.md, which are run as they stand there."""

import doctest
from pathlib import Path

import pytest

import hlotool

ROOT = Path(__file__).parent.parent
GPU = ROOT / "testdata" / "hlo" / "gpu_train_step.txt"
TEXT = "HloModule m\n\nENTRY e {\n  p = f32[2] parameter(0)\n  ROOT n = f32[2] negate(p)\n}\n"


def test_the_documented_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(
        str(ROOT / "docs/api.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert (failed, tried > 5) == (0, True)


class Compiled:
    def as_text(self) -> str:
        return TEXT


@pytest.mark.parametrize("dump", [TEXT, Compiled(), TEXT.replace("\n\n", "\n")])
def test_text_and_compiled(dump: str | Compiled) -> None:
    found = hlotool.load(dump)
    assert found.module.name == "m"
    assert found.assignment is None
    assert found.summary().module.instruction_count == 2


def test_a_file_comes_with_its_assignment() -> None:
    path = next((ROOT / "testdata/dumps/cpu/mlp_train").glob("*cpu_after_optimizations.txt"))
    for given in (path, str(path), path.parent):
        dump = hlotool.load(given)
        assert dump.assignment is not None
        assert dump.paths.module_path == str(path)


def test_load_all_reads_every_program() -> None:
    dumps = hlotool.load_all(ROOT / "testdata/dumps/cpu", stage="after")
    folders = [one for one in (ROOT / "testdata/dumps/cpu").iterdir() if one.is_dir()]
    assert len(dumps) >= len(folders) > 1


def test_a_configuration_names_the_chip(tmp_path: Path) -> None:
    config = tmp_path / "hlotool.toml"
    config.write_text('chip = "h100"\n', encoding="utf-8")
    path = ROOT / "testdata/collectives/overlap_share.txt"
    assert hlotool.load(path).collectives().totals.exposed_seconds is None
    found = hlotool.load(path, config=config).collectives().totals
    assert found.exposed_seconds is not None
    assert found.machine is not None
    assert found.machine.startswith("NVIDIA H100")


def test_what_is_no_dump_raises_one_class() -> None:
    for wrong in ("no/such/file", "HloModule m\nENTRY e {", "not a dump\n"):
        with pytest.raises(hlotool.HlotoolError):
            hlotool.load(wrong)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        hlotool.laod  # noqa: B018
    assert set(dir(hlotool)) == set(hlotool.__all__)


def test_a_chip_is_named_as_on_the_command_line() -> None:
    dump = hlotool.load(TEXT, chip="h100")
    assert dump.program.machine is not None
    assert dump.program.machine.chip is not None
    assert dump.program.machine.chip.name == "h100"
    with pytest.raises(hlotool.HlotoolError, match="chip 'h1000' is unknown"):
        hlotool.load(TEXT, chip="h1000")
    with pytest.raises(hlotool.HlotoolError, match="v5e is a chip for TPU"):
        hlotool.load(GPU, chip="v5e")
    (same,) = hlotool.load_all(GPU, chip="v5e")
    assert same.fusions().rows[0].estimated_seconds is None
