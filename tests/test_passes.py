"""Times and growth of passes, against the dumps of the same passes, and JAX's time of it all."""

from __future__ import annotations

import json
import re
import tarfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typed_commands import run

from hlotool.commands.diff.passes import choose_compilation
from hlotool.compare.pass_times import PassRun, list_pass_times, parse_metadata
from hlotool.compare.passes import list_steps
from hlotool.dump.budget import DEFAULT_BUDGET

HOME = Path(__file__).parent.parent / "testdata" / "passes"
TIMED = ("gpu_h100", "tpu_v5e", "tpu_v5e.plain")
DUMP = re.compile(r"\.\d{4}\.([^.]*)\.after_(.+?)\.before_")


def read(name: str, ending: str) -> str:
    with tarfile.open(HOME / f"{name}.tar.xz") as archive:
        member = next(one for one in archive if one.name.endswith(ending))
        found = archive.extractfile(member)
        assert found is not None
        return found.read().decode()


def ask(command: str) -> Any:
    printed = run(f"hlotool passes testdata/passes/{command} --json -n 0")
    return json.loads(printed.partition("\n")[2])


def join(runs: list[PassRun]) -> int:
    """Return how long any of them ran."""
    total, until = 0, 0
    for one in sorted(runs, key=lambda each: each.begin):
        total += max(0, one.end - max(one.begin, until))
        until = max(until, one.end)
    return total


@pytest.mark.parametrize("name", TIMED)
def test_times_add_up_to_less_than_jax_says(name: str) -> None:
    runs = parse_metadata(read(name, ".metadata.textproto"))
    rows, totals = list_pass_times(runs, ())
    assert len(rows) == len(runs) > 300
    assert totals.seconds == pytest.approx(join(runs) * 1e-12)
    assert totals.seconds == pytest.approx(sum(row.own_seconds or 0 for row in rows))
    assert all((row.own_seconds or 0) >= 0 for row in rows)
    whole = json.loads(read(name, "jax.json"))["backend_compile_duration"]
    assert totals.seconds < whole


@pytest.mark.parametrize("name", ["gpu_h100", "tpu_v5e"])
def test_passes_and_their_order_are_those_of_the_dumps(name: str) -> None:
    with tarfile.open(HOME / f"{name}.tar.xz") as archive:
        dumps = [
            found.groups() for each in sorted(archive.getnames()) if (found := DUMP.search(each))
        ]
    dumped = [key for key in dumps if key[1] != "pipeline-start"]
    metadata = read(name, ".metadata.textproto")
    blocks = metadata.replace("pass_metadata {", "\0pass_metadata {").split("\0")
    runs = parse_metadata("".join(each for each in blocks if "module_changed: true" in each))
    changed = [one.key for one in sorted(runs, key=lambda one: one.end)]
    assert len(changed) > 9
    assert changed == dumped[: len(changed)]  # what runs later is in the dumps alone
    steps = list_steps(choose_compilation(str(HOME / f"{name}.tar.xz"), None, DEFAULT_BUDGET))
    rows, _ = list_pass_times(parse_metadata(metadata), steps)
    timed = [row for row in rows if row.path and row.own_seconds is not None]
    assert [(row.pipeline.replace(" ", "_"), row.pass_name) for row in timed] == changed
    grown = [row for row in rows if row.path]
    for before, after in pairwise(grown):
        assert before.new_instruction_count == after.old_instruction_count


@pytest.mark.parametrize("name", ["cpu", "gpu_h100"])
def test_a_profile_times_all(name: str) -> None:
    profile = f"--profile testdata/passes/{name}.tar.xz!/host.xplane.pb"
    found = ask(f"{name}.tar.xz {profile}")
    totals = found["totals"]
    whole = json.loads(read(name, "jax.json"))["backend_compile_duration"]
    assert 0 < totals["seconds"] < totals["outside_seconds"] + totals["seconds"] <= whole
    if name == "gpu_h100":
        known = {one.key for one in parse_metadata(read(name, ".metadata.textproto"))}
        told = {(row["pipeline"].replace(" ", "_"), row["pass_name"]) for row in found["passes"]}
        assert {key for key in known if key[1] != "pipeline-start"} <= told
