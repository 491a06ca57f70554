"""Profile two steps of a small program on four CPU devices, as `jax.profiler` writes it.

python testdata/profiles/make_profile.py        (needs jax)
"""

import gzip
import os
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent / "cpu" / "plugins" / "profile" / "2026_11_22_09_16_59"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402  (flags first)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
MESH = Mesh(np.array(jax.devices()), ("data",))
ALL, SPLIT = (NamedSharding(MESH, PartitionSpec(*axes)) for axes in ((), ("data",)))


def step(weights: jax.Array, bias: jax.Array, batch: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Run a loop, and add up over all devices."""

    def layer(state: jax.Array, _: None) -> tuple[jax.Array, None]:
        return jnp.tanh(state @ weights), None

    out, _ = jax.lax.scan(layer, batch, None, length=3)
    return weights - 0.1 * jnp.sum(out) * weights, jnp.sum((out + bias) ** 2)


def make_arguments() -> list[jax.Array]:
    """Return what a step takes; it is donated the first."""
    shapes = {(64, 64): ALL, (64,): ALL, (32, 64): SPLIT}
    return [jax.device_put(np.ones(shape, np.float32), at) for shape, at in shapes.items()]


compiled = jax.jit(step, donate_argnums=0).lower(*make_arguments()).compile()
jax.block_until_ready(compiled(*make_arguments()))
arguments = [make_arguments() for _ in range(2)]
jax.block_until_ready(arguments)
options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0
with tempfile.TemporaryDirectory() as folder:
    with jax.profiler.trace(folder, profiler_options=options):
        for each in arguments:
            jax.block_until_ready(compiled(*each))
    data = next(Path(folder).rglob("*.xplane.pb")).read_bytes()
FOLDER.mkdir(parents=True, exist_ok=True)
(FOLDER / "host.xplane.pb.gz").write_bytes(gzip.compress(data, mtime=0))
