"""Train steps of small models: `program.py BACKEND MODEL [remat|donate] [TARGET]`."""

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

LAYERS, BATCH, LENGTH, WIDTH, INNER, VOCABULARY = 6, 8, 256, 256, 1024, 4096


def run_layer(layer: Any, x: Any) -> Any:
    """Run attention, where the layer has it, and a perceptron."""
    if "qkv" in layer:
        with jax.named_scope("attention"):
            q, k, v = jnp.split(x @ layer["qkv"], 3, axis=-1)
            scores = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) / 16.0, axis=-1)
            x += jnp.einsum("bqk,bkd->bqd", scores, v)
    with jax.named_scope("mlp"):
        return x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]


def loss_of(params: Any, tokens: Any, *, is_scanned: bool, is_rematerialized: bool) -> Any:
    """Return the mean cross entropy."""
    run = jax.checkpoint(run_layer) if is_rematerialized else run_layer
    x = params["embed"][tokens]
    if is_scanned:
        x, _ = jax.lax.scan(lambda x, layer: (run(layer, x), None), x, params["layers"])
    else:
        for number, layer in enumerate(params["layers"]):
            with jax.named_scope(f"layer_{number}"):
                x = run(layer, x)
    with jax.named_scope("head"):
        logits = x @ params["head"]
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[..., None], -1)
        return -picked.mean()


def make_params(model: str) -> Any:
    """Return the shapes of the parameters."""
    shapes = {"up": (WIDTH, INNER), "down": (INNER, WIDTH)}
    if model == "attention":
        shapes["qkv"] = (WIDTH, 3 * WIDTH)
    layers: Any = [{name: array(*shape) for name, shape in shapes.items()} for _ in range(LAYERS)]
    if model == "scanned":
        layers = {name: array(LAYERS, *shape) for name, shape in shapes.items()}
    return {"embed": array(VOCABULARY, WIDTH), "head": array(WIDTH, VOCABULARY), "layers": layers}


def array(*shape: int) -> Any:
    """Return a shape of floats."""
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def main(backend: str, model: str, option: str = "", target: str = "") -> None:
    """Compile one, and print what XLA says of its memory."""

    def train_step(state: Any, tokens: Any) -> Any:
        def loss(params: Any) -> Any:
            return loss_of(
                params,
                tokens,
                is_scanned=model == "scanned",
                is_rematerialized=option == "remat",
            )

        value, grads = jax.value_and_grad(loss)(state["params"])
        with jax.named_scope("update"):
            mu = jax.tree.map(lambda m, g: 0.9 * m + g, state["mu"], grads)
            params = jax.tree.map(lambda p, m: p - 0.01 * m, state["params"], mu)
        return {"params": params, "mu": mu}, value

    params = make_params(model)
    arguments = {"params": params, "mu": params}, jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32)
    place = jax.sharding.SingleDeviceSharding(find_device(backend, target))
    arguments = jax.tree.map(
        lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=place), arguments
    )
    donated = (0,) if option == "donate" else ()
    compiled = jax.jit(train_step, donate_argnums=donated).lower(*arguments).compile()
    found = compiled.memory_analysis()
    names = ("argument", "output", "alias", "temp")
    print(json.dumps({name: getattr(found, f"{name}_size_in_bytes") for name in names}))


def find_device(backend: str, target: str) -> Any:
    """Return a device to compile for."""
    if backend == "cpu":
        return jax.devices()[0]
    from jax.experimental import topologies  # noqa: PLC0415  only these need it

    if backend == "tpu_v5e":
        return topologies.get_topology_desc("v5e:2x4", platform="tpu").devices[0]
    text = Path(target).read_text("utf-8")
    return topologies.get_topology_desc(
        "", platform="cuda", topology="1x1x1", target_config=text
    ).devices[0]


if __name__ == "__main__":
    main(*sys.argv[1:])
