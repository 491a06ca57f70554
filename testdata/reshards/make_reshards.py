"""Compile the programs of make/involuntary.py, for tests/test_reshards.py.

    PYTHONPATH=. python testdata/reshards/make_reshards.py JAX_PYTHON

JAX_PYTHON is an interpreter that has jax; this one needs what hlotool does. `programs.tar.xz` then
holds the texts of programs that XLA warns of, and of others, each with `.json`: the program and the
warnings; those in the folder `tpu` are of a TPU. Of those that hlotool knows a detour for, the
program is compiled once more with the detour, and its final text is kept in the folder `detours`.
What docs show goes to `passes`, and what Shardy writes on TPU to `shardy`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import hlotool

HERE = Path(__file__).resolve().parent
SEEDS = {"tuned": 1, "held_out": 2, "tpu": 3}  # the first was looked at while rules were made
COUNTS = {"tuned": 250, "held_out": 250, "tpu": 150}
MOST_OF_TPU = 12  # programs that are kept
MOST_DETOURS = 24
EVERY = 5  # of the programs without a warning
FLAGS = (
    "--xla_force_host_platform_device_count=8 --xla_dump_to=xla_dump --xla_dump_hlo_as_text "
    "--xla_dump_hlo_pass_re=spmd|shardy|pipeline-start --xla_cpu_max_isa=AVX2"
)
KEPT = re.compile(
    r".*\.(before_optimizations|.*after_shardy-xla\..*|spmd-cleanup\.after_pipeline-start\..*|"
    r"(cpu_)?after_optimizations)\.txt"
)
FINAL = "after_optimizations.txt"
# What docs/shardings.md shows.
EXAMPLE = {
    "name": "blocks",
    "mesh": [["data", 4], ["model", 2]],
    "shape": [64, 128],
    "spec": [["data"], []],
    "steps": [
        ["matmul", [128, 256], [[], ["model"]]],
        ["sin", 0],
        ["matmul", [256, 64], [["model"], []]],
        ["constrain", [["data", "model"], []]],
        ["sin", 0],
        ["constrain", [[], ["data"]]],
    ],
    "is_gradient": False,
}
_OF_STEP = re.compile(r"jit\(\w+\)/(?:jvp\()?s(\d+)\)?/[^(]*|x")


def compile_programs(
    python: str, folder: Path, *seed: str, programs: Any = None, backend: str = "cpu"
) -> Any:
    """Compile programs in a folder, and return them with the warnings."""
    done = subprocess.run(  # noqa: S603  our own program
        [python, "-m", "make.involuntary", backend, *seed],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(HERE.parent),
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": FLAGS,
            "TPU_SKIP_MDS_QUERY": "1",
            "TPU_STDERR_LOG_LEVEL": "0",
            "TPU_MIN_LOG_LEVEL": "0",
        },
        input=None if programs is None else json.dumps(programs),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def find_texts(folder: Path, program: Any) -> list[Path]:
    """List what is kept of a program."""
    found = (folder / "xla_dump").glob(f"module_*.jit_{program['name']}.*")
    return sorted(path for path in found if KEPT.fullmatch(path.name))


def find_detours(folder: Path, program: Any) -> list[Any]:
    """Return a program with the constraints that hlotool offers, one copy for each value."""
    final = next(path for path in find_texts(folder, program) if path.name.endswith(FINAL))
    found: dict[tuple[int, str | None, str | None, str | None], Any] = {}
    for row in hlotool.load(final).program.reshards:
        match = _OF_STEP.fullmatch(row.value or "")
        if row.via_text and match:
            at = int(match[1]) + 1 if match[1] else 0
            found.setdefault((at, row.value, row.from_text, row.to_text), row)
    copies = []
    for number, ((at, *key), row) in enumerate(found.items()):
        specs = [read_spec(text, len(row.from_spec)) for text in row.via_text.split(" → ")]
        steps = [["constrain", spec] for spec in specs]
        copies.append(
            {
                **program,
                "name": f"{program['name']}d{number}",
                "steps": [*program["steps"][:at], *steps, *program["steps"][at:]],
                "detour": [program["name"], *key, row.via_text],
            }
        )
    return copies


def read_spec(text: str, rank: int) -> list[list[str]]:
    """Read `P('a', None, ('b', 'c'))` as lists of axes."""
    parts = re.findall(r"None|'\w+'|\([^()]*\)", text[2:-1])
    spec = [re.findall(r"'(\w+)'", part) for part in parts]
    return spec + [[]] * (rank - len(spec))


def keep(path: Path, target: Path) -> None:
    """Compress a file, the same every time."""
    target.parent.mkdir(exist_ok=True, parents=True)
    target.write_bytes(gzip.compress(path.read_bytes(), compresslevel=9, mtime=0))


def add(packed: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add a file, the same every time."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    packed.addfile(info, io.BytesIO(data))


def main() -> None:
    """Compile, choose, and pack."""
    python = sys.argv[1]
    with (
        tempfile.TemporaryDirectory() as scratch,
        tarfile.open(HERE / "programs.tar.xz", "w:xz", preset=9) as packed,
    ):
        compile_programs(python, Path(scratch), programs=[EXAMPLE])
        for path in find_texts(Path(scratch), EXAMPLE):
            keep(path, HERE / "passes" / f"{path.name}.gz")
        of_tpu = Path(scratch, "of_tpu")
        of_tpu.mkdir()
        compile_programs(python, of_tpu, programs=[EXAMPLE], backend="v5e:2x4")
        for path in [*of_tpu.rglob(f"*.{FINAL}"), *of_tpu.rglob("*.after_propagation.mlir")]:
            name = path.relative_to(of_tpu / "xla_dump")
            keep(path, HERE / "shardy" / f"{name}.gz")
        for kind, seed in SEEDS.items():
            folder = Path(scratch, kind)
            folder.mkdir()
            backend = "v5e:2x4" if kind == "tpu" else "cpu"
            numbers = str(seed), str(COUNTS[kind])
            programs = compile_programs(python, folder, *numbers, backend=backend)
            if kind == "tuned":
                copies = [copy for each in programs for copy in find_detours(folder, each)]
                others = Path(scratch, "detours")
                others.mkdir()
                copies = compile_programs(python, others, programs=copies[:MOST_DETOURS])
                chosen = {copy["detour"][0] for copy in copies}
                programs = [each for each in programs if each["name"] in chosen]
                for copy in copies:
                    (final,) = (p for p in find_texts(others, copy) if p.name.endswith(FINAL))
                    add(packed, f"detours/{copy['name']}.txt", final.read_bytes())
                    add(packed, f"detours/{copy['name']}.json", json.dumps(copy).encode())
            elif kind == "tpu":
                programs = [each for each in programs if each["warnings"]][:MOST_OF_TPU]
            else:
                plain = [each for each in programs if not each["warnings"]][::EVERY]
                programs = [each for each in programs if each["warnings"] or each in plain]
            for program in programs:
                add(packed, f"{kind}/{program['name']}.json", json.dumps(program).encode())
                for path in find_texts(folder, program):
                    add(packed, f"{kind}/{path.name}", path.read_bytes())


if __name__ == "__main__":
    main()
