"""Compile a loop for a backend: its proto, and the buffer assignment as XLA prints it.

    python testdata/protos/make_assignments.py (cpu | gpu TARGET | tpu)

Needs jax with the compiler of that backend; TARGET is a GpuTargetConfigProto in text form, as
testdata/make has it. No device is needed.
"""

import gzip
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

BACKEND = sys.argv[1]
FOLDER = Path(__file__).parent / "assignments"
SUFFIXES = ("-buffer-assignment.txt", "-buffer-assignment-values.txt", "-live-range.txt")
DUMP = Path(tempfile.mkdtemp())
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=8 --xla_gpu_autotune_level=0 "
    f"--xla_dump_to={DUMP} --xla_dump_hlo_as_text --xla_dump_hlo_as_proto"
)
os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1"}

import jax  # noqa: E402  (flags first)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")


def find_devices() -> Any:
    """Return eight devices to compile for."""
    if BACKEND == "cpu":
        return jax.devices()
    if BACKEND == "tpu":
        return topologies.get_topology_desc("v5e:2x4", platform="tpu").devices
    target = Path(sys.argv[2]).read_text(encoding="utf-8")
    options = {"platform": "cuda", "topology": "1x1x8", "target_config": target}
    return topologies.get_topology_desc("", **options).devices


def loop(weights: jax.Array, start: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Run a loop with a branch in it."""

    def step(state: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        state = jnp.tanh(state @ weights)
        double, turn = (lambda x: x * 2), (lambda x: jnp.sin(x) @ weights)
        state = jax.lax.cond(state.sum() > 0, double, turn, state)
        return state, state.sum()

    end, sums = jax.lax.scan(step, start, None, length=5)
    return end, sums, jax.lax.sort(sums)


MESH = Mesh(np.array(find_devices()).reshape(2, 4), ("x", "y"))
SPECS = PartitionSpec(), PartitionSpec("x", None)
ARGUMENTS = [
    jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(MESH, spec))
    for shape, spec in zip(((256, 256), (128, 256)), SPECS, strict=True)
]
jax.jit(loop, donate_argnums=1).lower(*ARGUMENTS).compile()
for path in DUMP.glob("*after_optimizations*"):
    stem, ending, rest = path.name.partition("after_optimizations")
    if rest in {".hlo.pb", *SUFFIXES}:
        target = FOLDER / f"{BACKEND}_{ending}{rest}.gz"
        target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
