"""What hlotool says of shardings is what JAX says of the compiled program, or `?`.

`testdata/shardings` holds small programs for three backends, and where JAX says that their arrays
lie. Each is read three times: as dumped by default, with protos, and from the final text alone.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from dump_files import TESTDATA

import hlotool

FOLDER = TESTDATA / "shardings"
FINAL = "after_optimizations.txt.gz"
PROTO = "after_optimizations.hlo.pb.gz"
OTHERS = ("before_optimizations.txt.gz", "module.mlir.gz")
READINGS = {
    "default": (FINAL, *OTHERS),
    "proto": (FINAL, PROTO, *OTHERS),
    "alone": (FINAL,),
    "proto-alone": (PROTO,),
    "before": OTHERS[:1],
}
# Of two meshes XLA keeps one; what the user wrote is in MLIR, which GPU dumps have not.
RENAMED = {("two_meshes", "x")}
# Arguments that the user let XLA cut, and programs whose results the user cut.
FREE = {("free", "w")}
CHOSEN = {"chosen", "explicit"}


class Case(NamedTuple):
    backend: str
    reading: str


CASES = [
    Case(folder.name, reading)
    for folder in sorted(FOLDER.iterdir())
    if folder.is_dir()
    for reading in READINGS
]


def find_parts(spec: Any, axes: dict[str, tuple[int, int]], devices: int) -> list[str]:
    """Return which part of each dimension each device holds, one digit a device.

    An axis is a name of `axes`, which has its size and its stride, or written `4@2`.
    """
    found = []
    for names in spec:
        steps = [axes[name] if name in axes else tuple(map(int, name.split("@"))) for name in names]
        digits = []
        for device in range(devices):
            part = 0
            for size, stride in steps:
                part = part * size + device // stride % size
            digits.append(str(part))
        found.append("".join(digits))
    return found


def find_axes(meshes: list[dict[str, int]]) -> dict[str, tuple[int, int]]:
    """Return size and stride of each axis; no two meshes of a program share a name."""
    axes = {}
    for mesh in meshes:
        stride = 1
        for name, size in reversed(mesh.items()):
            axes[name] = size, stride
            stride *= size
    return axes


def read_spec(text: str) -> list[tuple[str, ...]]:
    """Return the axes of each dimension of a spec that JAX printed, as far as it goes."""

    def as_axes(each: Any) -> tuple[str, ...]:
        return () if each is None else each if isinstance(each, tuple) else (each,)

    dims = eval(text, {"P": lambda *dims: dims})  # noqa: S307  our own testdata
    return [as_axes(each) for each in dims]


def read_all(case: Case, folder: Path) -> dict[str, Any]:
    """Lay out the files of a reading, and return what hlotool says by program."""
    source = FOLDER / case.backend
    for path in source.rglob("*.gz"):
        if path.name.endswith(READINGS[case.reading]):
            link = folder / path.relative_to(source)
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(path)
    found = {}
    for path in folder.glob(f"*{READINGS[case.reading][0]}"):
        name = path.name.split(".jit_")[1].split(".")[0]
        found[name] = hlotool.load(path).shardings()
    return found


def expects(case: Case, program: str, name: str, parts: list[str], *, is_result: bool) -> bool:
    """Whether the files of a reading hold where an array lies."""
    if program == "single" or case.reading.startswith("proto"):
        return True
    if case.reading == "alone":
        return not is_result and case.backend != "tpu_v5e"
    if not is_result:
        is_final = case.backend != "tpu_v5e" and case.reading != "before"
        return is_final or (program, name) not in FREE
    if case.reading == "before":
        return program in CHOSEN
    return program in CHOSEN or all(set(each) == {"0"} for each in parts)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_shardings_are_those_of_jax(case: Case, tmp_path: Path) -> None:
    truth = json.loads((FOLDER / case.backend / "truth.json").read_text("utf-8"))
    found = read_all(case, tmp_path)
    assert set(found) == set(truth)
    for program, said in truth.items():
        report, axes = found[program], find_axes(said["meshes"])
        for kind, rows in (("inputs", report.parameters), ("results", report.results)):
            assert len(rows) == len(said[kind])
            for row, (name, array) in zip(rows, said[kind].items(), strict=True):
                place = (*case, program, name)
                is_result = kind == "results"
                is_known = expects(case, program, name, array["parts"], is_result=is_result)
                assert (row.spec is not None) == is_known, place
                if is_result:
                    has_name = case.reading in {"default", "proto"} and case.backend != "gpu_h100"
                    assert not has_name or row.name == name, place
                else:
                    assert row.name == name, place
                if row.global_shape is not None:
                    dims = ",".join(map(str, array["shape"]))
                    assert row.global_shape.endswith(f"[{dims}]"), place
                assert (row.global_shape is not None) == (is_known or "alone" not in case.reading)
                if row.spec is None:
                    continue
                devices = report.totals.device_count
                assert find_parts(row.spec, axes, devices) == array["parts"], place
                held = len(set(zip(*array["parts"], strict=True))) if array["parts"] else 1
                assert row.copies == devices // held, place
                is_by_user = kind == "inputs" and (program, name) not in FREE
                is_renamed = (program, name) in RENAMED and (
                    case.backend == "gpu_h100" or case.reading == "before"
                )
                if "alone" not in case.reading and is_by_user and not is_renamed:
                    spec = read_spec(array["spec"])
                    spec += [()] * (len(array["shape"]) - len(spec))
                    assert list(row.spec) == spec, place
                    assert row.spec_text == re.sub(r"(, None)+\)|,\)", ")", array["spec"]), place


@pytest.mark.parametrize(
    "folder",
    [one for one in sorted(FOLDER.iterdir()) if one.is_dir()],
    ids=lambda folder: folder.name,
)
def test_a_large_replicated_parameter_is_found(folder: Path) -> None:
    """The bytes told are those by which the arguments fell when it was sharded."""
    said = {}
    for path in folder.glob(f"*{FINAL}"):
        dump = hlotool.load(path)
        found = [one for one in dump.summary().findings if one.id == CODE]
        said[path.name.split(".jit_")[1].split(".")[0]] = found, dump.buffers().memory.totals
    whole, sharded = (said[f"large_{name}"][1].argument_bytes for name in WHOLE)
    assert whole is not None
    assert sharded is not None
    (one,) = said["large_whole"][0]
    assert (one.bytes, one.parameter) == (whole - sharded, "params['up']")
    assert [name for name, (found, _) in said.items() if found] == ["large_whole"]


CODE = "replicated-large-parameter"
WHOLE = ("whole", "everywhere")
