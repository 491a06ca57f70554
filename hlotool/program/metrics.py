"""The metrics of a program by name, such as `buffers.temp_bytes`: unit and meaning of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from hlotool.fields import Field
from hlotool.program.figures import BLOCKS

METRICS: Final[Mapping[str, Field]] = {
    f"{prefix}.{field.name}": replace(field, name=f"{prefix}.{field.name}")
    for prefix, source in BLOCKS.items()
    for field in source.block.fields
}
