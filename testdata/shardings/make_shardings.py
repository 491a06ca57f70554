"""Compile the programs of make/shardings.py, for tests/test_shardings_oracle.py.

    python testdata/shardings/make_shardings.py cpu|gpu_h100|tpu_v5e

Kept of each program are the texts before and after optimization and the proto of the latter, and in
`truth.json` what JAX says of its arrays. testdata/README.md has the packages.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = (
    "before_optimizations.txt",
    "after_optimizations.txt",
    "after_optimizations.hlo.pb",
    "module.mlir",
)
TARGETS = {
    "cpu": ("cpu", "", ""),
    "gpu_h100": ("gpu", "1x1x8", str(HERE.parent / "make" / "gpu_h100.txtpb")),
    "tpu_v5e": ("tpu", "v5e:2x4", ""),
}
FLAGS = (
    "--xla_dump_to=xla_dump --xla_dump_hlo_as_text --xla_dump_hlo_as_proto "
    "--xla_force_host_platform_device_count=8 --xla_cpu_max_isa=AVX2"
)


def main() -> None:
    """Compile in an empty folder, and keep what is asked for."""
    backend = sys.argv[1]
    gpu = " --xla_gpu_autotune_level=0" if backend == "gpu_h100" else ""
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent),
        "XLA_FLAGS": FLAGS + gpu,
        "JAX_PLATFORMS": "cpu",
        "TPU_SKIP_MDS_QUERY": "1",
    }
    target = HERE / backend
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(  # noqa: S603  our own program
            [sys.executable, "-m", "make.shardings", *TARGETS[backend]],
            cwd=scratch, env=environment, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        truth = json.loads(done.stdout.splitlines()[-1])
        dump = Path(scratch, "xla_dump")
        for path in sorted(dump.rglob("*")):
            if path.name.endswith(KEPT) and path.is_file():
                name = path.relative_to(dump)
                if not any(f".jit_{case}." in f"{name}/".replace("/", ".") for case in truth):
                    continue
                kept = target / f"{name}.gz"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(gzip.compress(path.read_bytes(), compresslevel=9, mtime=0))
    rows = [f"{json.dumps(case)}: {json.dumps(truth[case])}" for case in truth]
    text = ",\n".join(rows)
    (target / "truth.json").write_text(f"{{\n{text}\n}}\n", "utf-8")


if __name__ == "__main__":
    main()
