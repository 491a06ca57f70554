"""Compile programs with a flaw and without it, for tests/accuracy/advice.py.

    python testdata/advice/make_advice.py cpu|gpu_h100|tpu_v5e [trials|steps]

The trials are those of make/advice.py: of each the final text is kept, and on TPU, whose final text
has no shardings, the one before optimization; `BACKEND.trials.json` is what XLA says of their
memory. The steps are train steps with and without rematerialization and donation. Of the program as
it is, the module, the assignment and the live ranges are kept; of the others what XLA and hlotool
say of their memory, in `truth.json`. testdata/README.md has the packages; zstandard packs trials.
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

HERE = Path(__file__).resolve().parent
KEPT = ("after_optimizations.txt", "-buffer-assignment.txt", "-live-range.txt")
KEPT_OF_TRIALS = {
    "cpu": ("after_optimizations.txt",),
    "gpu_h100": ("after_optimizations.txt",),
    "tpu_v5e": ("after_optimizations.txt", "before_optimizations.txt"),
}
# Only these say that a reshard is involuntary.
KEPT_OF_RESHARDS = (
    "after_optimizations.txt",
    "before_optimizations.txt",
    "after_pipeline-start.before_dce.txt",
)
PROPAGATED = ".after_shardy-xla."  # in the name of the text that the partitioner is given
PASSES = "--xla_dump_hlo_pass_re=spmd|shardy|pipeline-start"
MODELS = {
    "cpu": ("scanned", "unrolled"),
    "gpu_h100": ("attention", "scanned"),
    "tpu_v5e": ("scanned",),
}
VARIANTS = {"plain": "", "remat": "remat", "donated": "donate"}
_PATH = re.compile(rb'"/[^"\n]*/([^"/\n]+\.py)"')  # a source file: where it lay is nobody's matter
FLAGS = {"gpu_h100": "--xla_gpu_autotune_level=0", "cpu": "--xla_cpu_max_isa=AVX2"}
TARGETS = {
    "cpu": ("cpu", "", ""),
    "gpu_h100": ("gpu", "1x1x8", str(HERE.parent / "make" / "gpu_h100.txtpb")),
    "tpu_v5e": ("tpu", "v5e:2x4", ""),
}
PROGRAMS = ("advice", "advice_judges")  # of make/programs
_NUMBER = re.compile(r"^module_\d+")


def make_trials(backend: str) -> None:
    """Compile all trials for a backend, and pack what is kept of them into one archive."""
    import zstandard  # noqa: PLC0415  the steps need none

    memory: dict[str, object] = {}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for programs in PROGRAMS:
            with tempfile.TemporaryDirectory() as scratch:
                flags = f"--xla_force_host_platform_device_count=8 {PASSES}"
                flags += " --xla_dump_hlo_module_re=__"
                command = [sys.executable, "-m", "make.advice", programs, *TARGETS[backend]]
                found = run(command, Path(scratch), "xla_dump", backend, flags)
                for name, sizes in found.items():
                    number = len(memory)
                    memory[name] = {"programs": programs, "memory": sizes}
                    is_reshard = name.startswith("involuntary_reshard")
                    kept = KEPT_OF_RESHARDS if is_reshard else KEPT_OF_TRIALS[backend]
                    for path in sorted(Path(scratch, "xla_dump").glob(f"module_*.jit_{name}.*")):
                        is_given = is_reshard and PROPAGATED in path.name
                        if path.name.endswith(kept) or is_given:
                            inside = _NUMBER.sub(f"module_{number:04}", path.name)
                            text = _PATH.sub(rb'"/home/user/\1"', path.read_bytes())
                            entry = tarfile.TarInfo(f"{programs}/{inside}")
                            entry.size = len(text)
                            archive.addfile(entry, io.BytesIO(text))
    target = HERE / f"{backend}.trials.tar.zst"
    target.write_bytes(zstandard.ZstdCompressor(level=19).compress(packed.getvalue()))
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(memory[name])}" for name in memory)
    (HERE / f"{backend}.trials.json").write_text(f"{{\n{rows}\n}}\n", "utf-8")


def make_steps(backend: str, model: str) -> None:
    """Compile the variants of a train step, keep what is asked for."""
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
    program = Path(dump, "program.py")
    program.write_bytes((HERE / "train_steps.py").read_bytes())
    command = [sys.executable, "program.py", backend, model, options]
    if backend == "gpu_h100":
        command.append(TARGETS[backend][-1])
    said = run(command, Path(dump), dump, backend, "--xla_dump_hlo_module_re=jit_train_step")
    program.unlink()
    return said


def run(command: list[str], folder: Path, dump: str, backend: str, flags: str) -> dict[str, object]:
    """Run what compiles, and return what it says last."""
    flags = f"--xla_dump_to={dump} --xla_dump_hlo_as_text {FLAGS.get(backend, '')} {flags}"
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent),
        "XLA_FLAGS": flags,
        "JAX_PLATFORMS": "cpu",
        "TPU_SKIP_MDS_QUERY": "1",
    }
    done = subprocess.run(  # noqa: S603  our own program
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
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
    chosen = sys.argv[2:] or ["trials", "steps"]
    if "trials" in chosen:
        make_trials(sys.argv[1])
    for each in MODELS[sys.argv[1]] if "steps" in chosen else ():
        make_steps(sys.argv[1], each)
