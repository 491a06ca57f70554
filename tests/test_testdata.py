"""The dumps in testdata are whole, are what the script makes, and say nothing of a machine."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from dump_files import TESTDATA, find_file, find_folders, read_json
from each import for_each

DUMPS = [path for path in find_folders() if path.is_relative_to(TESTDATA)]
ALONE = sorted(TESTDATA.glob("hlo/*.txt"))
FOLDERS = sorted(TESTDATA.glob("folders/*"))
PRINTED = read_json(TESTDATA / "printed/oracle.json")
# A home folder other than /home/user, or the folders sessions and temporary files live in.
MACHINE_PATH = re.compile(rb"/(?:tmp|root|work|mnt|var|Users)/|/home/(?!user\b)\w")
LIMIT_BYTES = 10_000_000
WHOLE_LIMIT_BYTES = 60_000_000
KINDS = ("before_optimizations", "after_optimizations")


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def place(path: Path) -> str:
    return str(path.relative_to(TESTDATA))


def read_oracle(folder: Path, kind: str = "") -> Any:
    path = find_file(folder, f"oracle{kind}.json")
    assert path is not None
    return read_json(path)


def files() -> list[Path]:
    parts = ("dumps", "packed", "folders", "advice", "hlo", "printed", "make")
    found = [path for part in parts for path in (TESTDATA / part).rglob("*")]
    return sorted(path for path in found if path.is_file() and path.suffix != ".pyc")


def test_every_backend_is_there() -> None:
    backends = {path.parent.name for path in DUMPS}
    assert backends >= {"cpu", "gpu_h100", "tpu_v5e", "tpu_v6e", "cpu_jax_0.4.30"}
    assert {"cpu_train_step.txt", "gpu_train_step.txt", "tpu_train_step.txt"} == {
        path.name for path in ALONE
    }


def test_all_of_the_catalogue_is_there_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TESTDATA))
    from make.catalogue import DUMPS as LISTED  # noqa: PLC0415 (not importable before)

    single = [one for one in LISTED if not one.whole and not one.printed]
    places = [f"{'packed' if one.packed else 'dumps'}/{one.folder}/{one.name}" for one in single]
    assert sorted(places) == sorted(map(place, DUMPS))
    assert sorted(one.whole for one in LISTED if one.whole) == [path.name for path in FOLDERS]
    assert sorted(one.alone_as for one in LISTED if one.alone_as) == [path.name for path in ALONE]


@for_each(DUMPS)
def test_dump_is_whole(folder: Path) -> None:
    """The files the oracle lists are there, the buffer assignment complete."""
    oracle = read_oracle(folder)
    names = {path.name.removesuffix(".gz") for path in folder.iterdir()}
    found = {one for one in names if not one.startswith("oracle")}
    assert found == set(oracle["dump_files"])
    (final,) = [text for text in found if text.endswith("after_optimizations.txt")]
    stem = final.removesuffix(".txt")
    parts = {text.removeprefix(f"{stem}-") for text in found if text.startswith(f"{stem}-")}
    if oracle["jax"] == "0.4.30":
        assert parts == {"buffer-assignment.txt"}
    elif oracle["jax"] == "0.7.2":
        assert parts == {"buffer-assignment.txt", "memory-usage-report.txt"}
    else:
        kinds = ("buffer-assignment", "buffer-assignment-values", "live-range")
        assert parts == {f"{kind}.txt" for kind in (*kinds, "memory-usage-report")}


@for_each(DUMPS)
def test_readings_stand_beside(folder: Path) -> None:
    """Each text has XLA's reading of every instruction, or XLA's refusal and the protobuf's."""
    oracle = read_oracle(folder)
    texts = {path.name.removesuffix(".gz") for path in folder.glob("*_optimizations.txt*")}
    assert {oracle[kind]["file"] for kind in KINDS if kind in oracle} == texts
    for kind in KINDS:
        if kind not in oracle or "error" in oracle[kind]:
            continue
        reading = read_oracle(folder, f"_{kind}_instructions")
        counted = [[one["computation"], len(one["instructions"])] for one in reading]
        assert counted == oracle[kind]["per_computation"]
    is_refused = "error" in oracle["after_optimizations"]
    assert is_refused == bool(find_file(folder, "oracle_proto_instructions.json"))


@for_each(DUMPS)
def test_readings_agree(folder: Path) -> None:
    """XLA's parser reads in the text what the compiler wrote into the protobuf."""
    oracle = read_oracle(folder)
    if "error" in oracle["after_optimizations"]:
        # SparseCore: the open parser refuses the text
        assert oracle["platform"] in {"tpu_v6e", "tpu7x"}
        return
    proto, text = oracle["from_proto"], oracle["after_optimizations"]
    keys = ("entry", "computations", "instructions", "entry_parameters")
    assert {key: proto[key] for key in keys} == {key: text[key] for key in keys}


@for_each(DUMPS)
def test_costs_of_instructions_make_the_cost_of_the_module(folder: Path) -> None:
    """Unless XLA gives no cost for one; the module's sum is rounded, being made in float32."""
    oracle = read_oracle(folder)
    for kind in KINDS:
        if kind not in oracle or "error" in oracle[kind]:
            continue
        rows = next(
            one["instructions"]
            for one in read_oracle(folder, f"_{kind}_costs")
            if one["computation"] == oracle[kind]["entry"]
        )
        if any(None in row for row in rows):
            continue
        for place, key in enumerate(("flops", "transcendentals", "bytes accessed"), start=1):
            total = sum(row[place] for row in rows)
            expected = oracle[kind]["cost_analysis"].get(key, 0)
            assert total == pytest.approx(expected, rel=1e-6), (kind, key)


@pytest.mark.parametrize("style", PRINTED)
def test_printed_styles(style: str) -> None:
    text = (TESTDATA / f"printed/{style}.txt").read_text(encoding="utf-8")
    assert len(text.encode()) == PRINTED[style]["bytes"]
    default = PRINTED["gpu_h100.styles.default"]
    if PRINTED[style]["reparsed"]:
        keys = ("instructions", "computations", "entry")
        assert {key: PRINTED[style][key] for key in keys} == {key: default[key] for key in keys}
    else:
        assert PRINTED[style]["error"].startswith("INVALID_ARGUMENT: Syntax error")


@pytest.mark.parametrize("link", ALONE, ids=name)
def test_a_text_alone_is_that_of_a_dump(link: Path) -> None:
    assert link.is_symlink()
    assert link.resolve() in TESTDATA.glob("dumps/*/*/*after_optimizations.txt")


def test_nothing_is_there_twice() -> None:
    """What is shown in two places is a link in one; compilers may write a file twice."""
    made = (
        *("dumps", "packed", "fit", "folders", "advice", "protos", "printed", "questions"),
        "shardings",
    )
    found = [path for path in TESTDATA.rglob("*") if path.is_file() and not path.is_symlink()]
    by_hand = [path for path in found if place(path).partition("/")[0] not in made]
    originals = {path.read_bytes(): path for path in found if path not in by_hand}
    twice = []
    for path in by_hand:
        if path.stat().st_size and path.suffix != ".pyc":
            other = originals.setdefault(path.read_bytes(), path)
            twice += [] if other == path else [f"{place(path)}: {place(other)}"]
    assert twice == []


def test_no_path_of_a_machine() -> None:
    found = {place(path): MACHINE_PATH.findall(unpack(path)) for path in files()}
    assert not {path: hits[:3] for path, hits in found.items() if hits}


def unpack(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def test_testdata_stays_small() -> None:
    assert sum(path.stat().st_size for path in files()) < LIMIT_BYTES
    whole = [path for path in TESTDATA.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in whole) < WHOLE_LIMIT_BYTES
    assert (TESTDATA / "hlo/gpu_train_step.txt").stat().st_size < 400_000


def test_readme_tells_of_every_dump() -> None:
    readme = (TESTDATA / "README.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(?:folders/|packed/)?([\w.]+)`", readme))
    programs = {path.stem for path in (TESTDATA / "make/programs").glob("*.py")}
    variants = {path.name.partition(".")[2] for path in DUMPS} - {""}
    backends = {path.parent.name for path in DUMPS}
    assert programs | variants | backends | {path.name for path in FOLDERS} <= told
