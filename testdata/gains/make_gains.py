"""Compile programs with and without rematerialisation and donation, for tests/accuracy/gains.py.

    JAX_PLATFORMS=cpu python testdata/gains/make_gains.py cpu|gpu_h100|tpu_v5e

Of the program as it is, the module, the assignment and the live ranges are kept; of the others what
XLA and hlotool say of their memory, in `truth.json`. docs/testdata.md has the packages.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = ("after_optimizations.txt", "-buffer-assignment.txt", "-live-range.txt")
MODELS = {
    "cpu": ("scanned", "unrolled"),
    "gpu_h100": ("attention", "scanned"),
    "tpu_v5e": ("scanned",),
}
VARIANTS = {"plain": "", "remat": "remat", "donated": "donate"}
_PATH = re.compile(rb'"/[^"\n]*/([^"/\n]+\.py)"')  # a source file: where it lay is nobody's matter
FLAGS = {"gpu_h100": "--xla_gpu_autotune_level=0", "cpu": "--xla_cpu_max_isa=AVX2"}


def make(backend: str, model: str) -> None:
    """Compile the variants of a model, keep what is asked for."""
    folder = HERE / f"{backend}.{model}"
    truth = {}
    for variant, options in VARIANTS.items():
        with tempfile.TemporaryDirectory() as dump:
            said = compile_apart(backend, model, options, dump)
            truth[variant] = {**said, **measure(dump)}
            if variant == "plain":
                keep(Path(dump), folder)
    text = json.dumps(truth, indent=1, sort_keys=True)
    (folder / "truth.json").write_text(f"{text}\n", "utf-8")


def compile_apart(backend: str, model: str, options: str, dump: str) -> dict[str, object]:
    """Compile in a process of its own, from a neutral folder: paths end up in the dump."""
    flags = f"--xla_dump_to={dump} --xla_dump_hlo_as_text {FLAGS.get(backend, '')}"
    environment = {
        **os.environ,
        "XLA_FLAGS": f"{flags} --xla_dump_hlo_module_re=jit_train_step",
        "JAX_PLATFORMS": "cpu",
        "TPU_SKIP_MDS_QUERY": "1",
    }
    program = Path(dump, "program.py")
    program.write_bytes((HERE / "program.py").read_bytes())
    command = [sys.executable, "program.py", backend, model, options]
    if backend == "gpu_h100":
        command.append(str(HERE.parent / "make" / "gpu_h100.txtpb"))
    done = subprocess.run(  # noqa: S603  our own program
        command, cwd=dump, env=environment, capture_output=True, text=True, check=True
    )
    program.unlink()
    said: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return said


def measure(dump: str) -> dict[str, int]:
    """Return what hlotool says of the memory of a dump."""
    command = [sys.executable, "-m", "hlotool", "buffers", dump, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    python = os.environ.get("HLOTOOL_PYTHON")
    done = subprocess.run(  # noqa: S603
        [python, *command[1:]] if python else command,
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    totals = json.loads(done.stdout)["totals"]
    return {name: totals[name] for name in ("allocated_bytes", "peak_bytes")}


def keep(dump: Path, folder: Path) -> None:
    """Keep the files that gains are made from, compressed."""
    folder.mkdir(exist_ok=True)
    for path in sorted(dump.iterdir()):
        if path.name.endswith(KEPT):
            text = _PATH.sub(rb'"/home/user/\1"', path.read_bytes())
            data = gzip.compress(text, mtime=0)
            (folder / f"{path.name}.gz").write_bytes(data)


if __name__ == "__main__":
    for each in MODELS[sys.argv[1]]:
        make(sys.argv[1], each)
