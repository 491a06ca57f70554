"""Chips: every figure has a source, users can add their own, mistakes are named."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from hlotool.analysis.cost.chips import find_chip
from hlotool.errors import HlotoolError, InputError, UsageError

DATA = Path(__file__).resolve().parents[1] / "hlotool/data/chips.toml"
NAMES = tuple(tomllib.loads(DATA.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", NAMES)
def test_chips_are_believable(name: str) -> None:
    chip = find_chip(name)
    assert 8e9 < chip.hbm_bytes < 310e9
    assert 3e11 < chip.hbm_bytes_per_second < 2e13
    assert 60 < chip.flops_per_second / chip.hbm_bytes_per_second < 600  # flops a byte


def test_every_figure_has_a_source() -> None:
    lines = DATA.read_text(encoding="utf-8").splitlines()
    figures = [line for line in lines if "_second" in line.partition("=")[0] or "hbm" in line]
    assert len(figures) > 3 * len(NAMES) - 1
    assert not [line for line in figures if "#" not in line]


def test_capitals_and_aliases() -> None:
    assert find_chip("H100") is not None
    assert find_chip("ironwood").name == "tpu7x"


def test_a_chip_of_two_devices_is_divided() -> None:
    assert find_chip("tpu7x").hbm_bytes == 96 * 2**30


def test_a_file_adds_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "chips.toml"
    path.write_text(
        "[h100]\nhbm_bytes = 40_000_000_000\n"
        "[mine]\nhbm_bytes = 1\nhbm_bytes_per_second = 2\nflops_per_second = 3e3\n"
    )
    h100 = find_chip("h100", str(path))
    assert (h100.hbm_bytes, h100.flops_per_second) == (40_000_000_000, 989e12)
    assert find_chip("mine", str(path)).flops_per_second == 3000
    assert find_chip("h100").hbm_bytes == 84_942_979_072


MISTAKES: dict[str, tuple[str, type[HlotoolError], str]] = {
    "unknown": ("[x]\n", UsageError, "chip 'h9' is unknown; known chips are a100, b200,"),
    "not toml": ("h9 = [\n", UsageError, "is not a TOML file"),
    "no table": ("h9 = 3\n", UsageError, "'h9' is outside a chip's table"),
    "missing figure": ("[h9]\nhbm_bytes = 1\n", UsageError, "hbm_bytes_per_second of 'h9'"),
    "a word": ('[h9]\nhbm_bytes = "80GB"\n', UsageError, "hbm_bytes of 'h9' must be a number"),
    "no interconnect": (
        '[h9]\nhbm_bytes = 1\nhbm_bytes_per_second = 1\nflops_per_second = 1\nlink_network = "x"\n',
        UsageError,
        "link_interconnect of 'h9' must be ici or nvlink",
    ),
    "no devices": ("[h9]\ndevices_per_chip = 0\n", UsageError, "devices_per_chip of 'h9'"),
}


@pytest.mark.parametrize(("text", "kind", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(
    tmp_path: Path, text: str, kind: type[HlotoolError], message: str
) -> None:
    path = tmp_path / "chips.toml"
    path.write_text(text)
    with pytest.raises(kind, match=message):
        find_chip("h9", str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        find_chip("h100", str(tmp_path / "none.toml"))
