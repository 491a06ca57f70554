"""The dumps in testdata are whole, are what the script makes, and say nothing of a machine."""

import json
import re
from pathlib import Path

import pytest

TESTDATA = Path(__file__).resolve().parents[1] / "testdata"
DUMPS = sorted(path.parent for path in TESTDATA.glob("dumps/*/*/oracle.json"))
COPIES = sorted(TESTDATA.glob("hlo/*.txt"))
# A home folder other than /home/user, or the folders sessions and temporary files live in.
MACHINE_PATH = re.compile(rb"/(?:tmp|root|work|mnt|var|Users)/|/home/(?!user/)\w")
LIMIT_BYTES = 5_000_000


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def files() -> list[Path]:
    made = [*TESTDATA.glob("dumps/**/*"), *TESTDATA.glob("hlo/*")]
    return sorted(path for path in made if path.is_file())


def test_every_backend_is_there() -> None:
    assert {path.parent.name for path in DUMPS} >= {"cpu", "gpu_h100", "tpu_v5e"}
    assert {"cpu_train_step.txt", "gpu_train_step.txt", "tpu_train_step.txt"} <= {
        path.name for path in COPIES
    }


@pytest.mark.parametrize("folder", DUMPS, ids=name)
def test_dump_is_whole(folder: Path) -> None:
    """The files the oracle lists are there, the buffer assignment complete, the reading beside."""
    oracle = json.loads((folder / "oracle.json").read_text(encoding="utf-8"))
    found = {path.name for path in folder.iterdir() if not path.name.startswith("oracle")}
    assert found == set(oracle["dump_files"])
    (final,) = [text for text in found if text.endswith("after_optimizations.txt")]
    stem = final.removesuffix(".txt")
    for kind in ("buffer-assignment", "buffer-assignment-values", "live-range"):
        assert f"{stem}-{kind}.txt" in found
    for key in ("before_optimizations", "after_optimizations"):
        if key not in oracle or "error" in oracle[key]:
            continue
        reading = json.loads((folder / f"oracle_{key}_instructions.json").read_text("utf-8"))
        counted = [[one["computation"], len(one["instructions"])] for one in reading]
        assert counted == oracle[key]["per_computation"]
        assert oracle[key]["file"] in found


@pytest.mark.parametrize("folder", DUMPS, ids=name)
def test_readings_agree(folder: Path) -> None:
    """XLA's parser reads in the text what the compiler wrote into the protobuf."""
    oracle = json.loads((folder / "oracle.json").read_text(encoding="utf-8"))
    if "error" in oracle["after_optimizations"]:
        pytest.skip("XLA's own parser refuses this text")
    proto, text = oracle["from_proto"], oracle["after_optimizations"]
    keys = ("entry", "computations", "instructions", "entry_parameters")
    assert {key: proto[key] for key in keys} == {key: text[key] for key in keys}


@pytest.mark.parametrize("copy", COPIES, ids=name)
def test_copy_is_one_of_the_dumps(copy: Path) -> None:
    originals = [path.read_bytes() for path in TESTDATA.glob("dumps/*/*/*after_optimizations.txt")]
    assert copy.read_bytes() in originals


def test_no_path_of_a_machine() -> None:
    found = {name(path): MACHINE_PATH.findall(path.read_bytes()) for path in files()}
    assert not {path: hits[:3] for path, hits in found.items() if hits}


def test_testdata_stays_small() -> None:
    assert sum(path.stat().st_size for path in files()) < LIMIT_BYTES
    assert (TESTDATA / "hlo/gpu_train_step.txt").stat().st_size < 400_000
