"""The FSDP × TP transformer of ../shared/dumps: its dimensions, for counts made on paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from hlotool.hlo import ArrayShape
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

DUMPS = Path(__file__).parents[1] / "../shared/dumps"
FSDP, TP, BFLOAT16 = 4, 2, 2


@dataclass(frozen=True)
class Dimensions:
    """What the parameters of the program say of the model."""

    layers: int
    width: int
    feed_forward: int
    query: int
    key: int
    vocabulary: int
    batch: int
    sequence: int

    @property
    def layer_weights(self) -> int:
        each = 2 * self.query + 2 * self.key + 3 * self.feed_forward
        return self.width * each

    @property
    def looked_up(self) -> int:
        """Bytes of what one device finds in its part of the embedding table."""
        return self.batch * self.sequence * (self.width // FSDP) * BFLOAT16

    @property
    def activation_bytes(self) -> int:
        """A batch's share of one FSDP rank, whole rows."""
        return self.batch // FSDP * self.sequence * self.width * BFLOAT16


def read_dimensions(folder: Path) -> Dimensions:
    path = next(folder.glob("*before_optimizations.txt"))
    module = parse_module(Source(path.read_text(encoding="utf-8"), path.name))
    dims = {}
    for parameter in module.entry.parameters:
        assert isinstance(parameter.shape, ArrayShape)
        dims[parameter.metadata().op_name] = parameter.shape.dims
    layer = "state['params']['layers']"
    layers, width, feed_forward = dims[f"{layer}['gate']"]
    batch, tokens = dims["tokens"]
    return Dimensions(
        layers,
        width,
        feed_forward,
        query=dims[f"{layer}['wq']"][2],
        key=dims[f"{layer}['wk']"][2],
        vocabulary=dims["state['params']['head']"][1],
        batch=batch,
        sequence=tokens - 1,
    )


def folder_of(name: str) -> Path:
    folder = DUMPS / name
    if not folder.exists():
        pytest.skip("needs ../shared")
    return folder
