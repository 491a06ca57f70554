"""A proto gets the answers of XLA's own text and assignment, whatever in it is asynchronous."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from dump_files import TESTDATA

from hlotool.cli import run

PACKED = sorted((TESTDATA / "protos" / "wrapped").iterdir())
# Without `shardings`: a proto has specs of results, which no text has.
COMMANDS = ("summary", "buffers", "fusions", "collectives", "outline")
# The text numbers the frames that it prints anew. A proto also has the shardings of parameters,
# which a final text of a TPU has not.
ELSEWHERE = ("stack_frame", "input", "compilation")
SHARDINGS = (
    "replicated",
    "global_shape",
    "spec",
    "spec_text",
    "copies",
    "cause",
    "from_spec",
    "to_spec",
    "moves",  # says the specs
    "next",  # commands, which name the file
)


def drop(value: Any) -> Any:
    if isinstance(value, dict):
        left_out = (*ELSEWHERE, *SHARDINGS)
        return {key: drop(one) for key, one in value.items() if key not in left_out}
    if not isinstance(value, list):
        return value
    return [drop(one) for one in value if not (isinstance(one, dict) and is_of_sharding(one))]


def is_of_sharding(row: dict[str, Any]) -> bool:
    return str(row.get("id")).startswith(("replicated", "gather"))


def ask(capsys: pytest.CaptureFixture[str], command: str, path: Path) -> Any:
    assert run([command, str(path), "--json"]) == 0, capsys.readouterr().err
    return drop(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("packed", PACKED, ids=lambda one: one.stem)
def test_a_proto_answers_as_its_text(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, protos = tmp_path / "texts", tmp_path / "protos"
    with zstandard.open(packed) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for entry in archive:
            folder = protos if entry.name.endswith(".pb") else texts
            archive.extract(entry, folder, filter="data")
    paths = sorted(protos.iterdir())
    assert len(paths) >= 10
    for path in paths:
        name = path.name.removesuffix(".hlo.pb")
        for command in COMMANDS:
            told = ask(capsys, command, path)
            assert told == ask(capsys, command, texts / f"{name}.txt"), (command, name)
