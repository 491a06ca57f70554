"""A decoder-only transformer: one training step, data and tensor parallel on a 4 × 2 mesh.

Parameters and optimizer state are sharded over both axes (FSDP and tensor parallel), the layers
run in a `scan` whose body is rematerialized, and the state is donated. This gives loops forward
and backward, and all-gathers, reduce-scatters and all-reduces over either axis.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

LAYERS, WIDTH, HEADS, HEAD_WIDTH, HIDDEN = 12, 2048, 16, 128, 8192
VOCABULARY, BATCH, LENGTH = 32768, 16, 1024
PARAMETERS = {
    "embed": ((VOCABULARY, WIDTH), P("model", "data")),
    "qkv": ((LAYERS, WIDTH, 3, HEADS, HEAD_WIDTH), P(None, "data", None, "model", None)),
    "out": ((LAYERS, HEADS, HEAD_WIDTH, WIDTH), P(None, "model", None, "data")),
    "up": ((LAYERS, WIDTH, HIDDEN), P(None, "data", "model")),
    "down": ((LAYERS, HIDDEN, WIDTH), P(None, "model", "data")),
}
Parameters = dict[str, jax.Array]
State = tuple[Parameters, Parameters]


def normalize(x: jax.Array) -> jax.Array:
    """Divide by the root mean square, in float32."""
    wide = x.astype(jnp.float32)
    mean = jnp.mean(wide * wide, axis=-1, keepdims=True)
    return (wide * jax.lax.rsqrt(mean + 1e-6)).astype(x.dtype)


def attention(x: jax.Array, layer: Parameters) -> jax.Array:
    """Causal self-attention over all heads."""
    q, k, v = jnp.einsum("btd,dshk->sbthk", x, layer["qkv"].astype(x.dtype))
    scores = jnp.einsum("bthk,bshk->bhts", q, k).astype(jnp.float32) / HEAD_WIDTH**0.5
    positions = jnp.arange(LENGTH)
    scores = jnp.where(positions[:, None] >= positions[None, :], scores, -1e9)
    weights = jax.nn.softmax(scores).astype(x.dtype)
    mixed = jnp.einsum("bhts,bshk->bthk", weights, v)
    return jnp.einsum("bthk,hkd->btd", mixed, layer["out"].astype(x.dtype))


def block(x: jax.Array, layer: Parameters, residual: NamedSharding) -> jax.Array:
    """One layer: attention, then the two matrices of the feed-forward part."""
    with jax.named_scope("attention"):
        x += attention(normalize(x), layer)
        x = jax.lax.with_sharding_constraint(x, residual)
    with jax.named_scope("mlp"):
        hidden = normalize(x) @ layer["up"].astype(x.dtype)
        x += jax.nn.gelu(hidden) @ layer["down"].astype(x.dtype)
        return jax.lax.with_sharding_constraint(x, residual)


def loss(
    parameters: Parameters, tokens: jax.Array, residual: NamedSharding, dtype: type
) -> jax.Array:
    """Mean cross entropy of the next token."""
    layers = {name: value for name, value in parameters.items() if name != "embed"}
    table = parameters["embed"].astype(dtype)

    def body(x: jax.Array, layer: Parameters) -> tuple[jax.Array, None]:
        return jax.checkpoint(lambda y: block(y, layer, residual))(x), None

    x, _ = jax.lax.scan(body, table[tokens], layers)
    with jax.named_scope("loss"):
        scores = jax.nn.log_softmax((x @ table.T).astype(jnp.float32))
        chosen = jnp.take_along_axis(scores[:, :-1], tokens[:, 1:, None], axis=-1)
        return -jnp.mean(chosen)


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower one step of gradient descent with momentum on eight devices."""
    mesh = Mesh(np.array(devices[:8]).reshape(4, 2), ("data", "model"))
    residual = NamedSharding(mesh, P("data", "model", None))
    # The CPU backend would widen every bfloat16 operation, which doubles the dump.
    dtype = jnp.float32 if devices[0].platform == "cpu" else jnp.bfloat16
    batch = BATCH * 2 if variant == "batch2x" else BATCH

    def train_step(state: State, tokens: jax.Array) -> tuple[State, jax.Array]:
        parameters, momentum = state
        value, gradient = jax.value_and_grad(loss)(parameters, tokens, residual, dtype)
        with jax.named_scope("update"):
            momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
            parameters = jax.tree.map(lambda p, m: p - 1e-3 * m, parameters, momentum)
        return (parameters, momentum), value

    parameters = {
        name: jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))
        for name, (shape, spec) in PARAMETERS.items()
    }
    tokens = jax.ShapeDtypeStruct(
        (batch, LENGTH), jnp.int32, sharding=NamedSharding(mesh, P("data", None))
    )
    step = jax.jit(train_step, donate_argnums=0)
    return step.lower((parameters, parameters), tokens)
