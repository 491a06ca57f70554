"""Compile the programs of a half for one backend, with every remedy, and pack them.

    python testdata/advice/make_remedies.py HALF BACKEND FOLDER [NAME ...]

HALF is tune, judge, judged, unseen, aside or sealed.
FOLDER gets what XLA writes, so that an interruption loses nothing: what is there is kept.

Of each, the final text and the buffer assignment are kept; of flaws and near-misses the text before
optimization and the flags too. `HALF/BACKEND.tar.zst`
holds them as PROGRAM/VARIANT/FILE, and `HALF/BACKEND.json.zst` what XLA says of each. Then
make_facts.py writes `facts.toml`. testdata/README.md has the packages, and zstandard packs.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import zstandard

HERE = Path(__file__).resolve().parent
JUDGED, UNSEEN, ASIDE, SEALED = "judged", "unseen", "aside", "sealed"  # beside this folder
KEPT = ("after_optimizations.txt", "after_optimizations-buffer-assignment.txt")
KEPT_OF_BASES = (*KEPT, "before_optimizations.txt", "debug_options")
BASES = ("flaw", "quiet")
FLAWS = {"tune": "flaws", "judge": "flaws_judge", JUDGED: "flaws_fresh"}  # the others have none
_PATH = re.compile(rb'"/[^"\n]*/([^"/\n]+\.py)"')  # a source file: where it lay is nobody's matter
_NUMBER = re.compile(r"^module_\d+\.")
GPU_FLAGS = "--xla_gpu_autotune_level=0"
# Nobody looks at the machine code: LLVM need not try hard.
CPU_FLAGS = (
    "--xla_force_host_platform_device_count=8 --xla_cpu_max_isa=AVX2"
    " --xla_llvm_disable_expensive_passes=true"
)
# Platform, topology, target and flags.
TARGETS = {
    "cpu": ("cpu", "", "", CPU_FLAGS),
    "gpu_h100": ("gpu", "1x1x8", "gpu_h100.txtpb", GPU_FLAGS),
    "gpu_a100": ("gpu", "1x1x8", "gpu_a100.txtpb", GPU_FLAGS),
    "tpu_v5e": ("tpu", "v5e:2x4", "", ""),
    "tpu_v5p": ("tpu", "v5p:2x2x2", "", ""),
    "tpu_v6e": ("tpu", "v6e:2x4", "", ""),
}


def find_half(half: str) -> Path:
    """Return the folder of a half."""
    return HERE.parent / half if half in (JUDGED, UNSEEN, ASIDE, SEALED) else HERE / half


def compile_all(half: str, backend: str, scratch: Path, only: list[str]) -> dict[str, Any]:
    """Compile all programs of a half for a backend, and return what XLA says of each."""
    platform, topology, target, flags = TARGETS[backend]
    dump = "--xla_dump_to=xla_dump --xla_dump_hlo_as_text --xla_dump_hlo_as_proto"
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent),
        "XLA_FLAGS": f"{dump} --xla_dump_hlo_module_re=__ {flags}",
        "JAX_PLATFORMS": "cpu",
        "TPU_SKIP_MDS_QUERY": "1",
    }
    said = scratch / "said.jsonl"
    said.touch()
    flaws = (FLAWS[half],) if half in FLAWS else ()
    for table in (str(find_half(half) / "programs.toml"), *flaws):
        given = [table, backend, platform, topology, target and str(HERE.parent / "make" / target)]
        subprocess.run(  # noqa: S603  our own program
            [sys.executable, "-m", "make.remedies", *given, *only],
            cwd=scratch, env=environment, check=True,
        )  # fmt: skip
    lines = map(json.loads, said.read_text("utf-8").splitlines())
    return {one["name"]: {"device": one["kind"], **one["said"]} for one in lines}


def pack(said: dict[str, Any], scratch: Path) -> bytes:
    """Pack what is kept of each."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for number, name in enumerate(said):
            program, variant = name.split("__")
            kept = KEPT_OF_BASES if variant in BASES else KEPT
            for path in sorted(Path(scratch, "xla_dump").glob(f"module_*.jit_{name}.*")):
                if path.name.endswith(kept):
                    inside = _NUMBER.sub(f"module_{number:04}.", path.name)
                    text = _PATH.sub(rb'"/home/user/\1"', path.read_bytes())
                    entry = tarfile.TarInfo(f"{program}/{variant}/{inside}")
                    entry.size = len(text)
                    archive.addfile(entry, io.BytesIO(text))
    far = zstandard.ZstdCompressionParameters.from_level(19, window_log=27, enable_ldm=True)
    return zstandard.ZstdCompressor(compression_params=far).compress(packed.getvalue())


def main() -> None:
    """Compile, and pack."""
    half, backend, folder, *only = sys.argv[1:]
    scratch = Path(folder)
    said = compile_all(half, backend, scratch, only)
    (find_half(half) / f"{backend}.tar.zst").write_bytes(pack(said, scratch))
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(said[name])}" for name in said)
    told = zstandard.compress(f"{{\n{rows}\n}}\n".encode(), 19)
    (find_half(half) / f"{backend}.json.zst").write_bytes(told)


if __name__ == "__main__":
    main()
