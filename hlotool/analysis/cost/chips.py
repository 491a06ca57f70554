"""The peaks of chips that estimates of time and free memory are made from.

Figures are of one device, in bytes, flops and seconds; hlotool/data/chips.toml names the source of
each. Flops of products are weighed by the types that they compute in (`weigh_flops`).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from math import inf
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import replace

from hlotool.analysis.cost.cost import PRODUCT_TYPES, Cost, TypedFlops
from hlotool.errors import InputError, UsageError
from hlotool.hlo.values import Target
from hlotool.table.field import Unit
from hlotool.table.renamed import update_names
from hlotool.table.units import format_value

LinkInterconnect: TypeAlias = Literal["ici", "nvlink"]
ChipBackend: TypeAlias = Literal["gpu", "tpu"]


class Chip(Struct, frozen=True):
    """Peaks of one device, as XLA sees devices: half a chip where a chip holds two.

    `hbm_bytes` is the memory a program finds, `flops_per_second` dense bfloat16 matrix
    arithmetic, `product_flops_per_second` that in other types (`PRODUCT_TYPES`), as far
    as stated; `vector_flops_per_second` what is no product, `vmem_bytes_per_second` TPU's vector
    memory (space 1), `clock_hertz` its cores,
    `link_bytes_per_second` what goes out on a ring of neighbours, along one of its `torus_axes`;
    they are None where no
    source states them. `backend` is whose programs run on it, None for all; `devices_per_node` how
    many devices the link usually joins.
    """

    name: str
    description: str
    hbm_bytes: int
    hbm_bytes_per_second: float
    flops_per_second: float
    devices_per_chip: int = 1
    link: str = ""
    link_bytes_per_second: float | None = None
    link_latency_seconds: float | None = None
    is_link_within_node: bool = False
    link_interconnect: LinkInterconnect | None = None
    vmem_bytes_per_second: float | None = None
    vector_flops_per_second: float | None = None
    clock_hertz: float | None = None
    torus_axes: int = 1
    backend: ChipBackend | None = None
    devices_per_node: int | None = None
    product_flops_per_second: tuple[tuple[str, float], ...] = ()


_BY_TYPE: Final = "flops_per_second_"  # then the type
# No figure of a chip comes near these bounds.
_Figure: TypeAlias = Annotated[float, Meta(gt=1e-30, lt=1e30)]
_Count: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
_FIGURE: Final = _Figure, "a number above 0"
# What the other keys of a table hold, and how that is called.
_KINDS: Final[Mapping[str, tuple[object, str]]] = {
    "devices_per_chip": (_Count, "1 to 1000"),
    "devices_per_node": (_Count, "1 to 1000"),
    "torus_axes": (_Count, "1 to 1000"),
    "link_interconnect": (LinkInterconnect, "ici or nvlink"),
    "backend": (ChipBackend, "gpu or tpu"),
}


def find_chip(name: str, chip_file: str = "") -> Chip:
    """Return a chip by name or alias; capitals do not count.

    `chip_file` is a TOML file of the form of hlotool/data/chips.toml, whose tables and keys
    add to it and replace it. Raises UsageError for an unknown name or a file that is none,
    InputError for a file that cannot be read.
    """
    tables: dict[str, dict[str, object]] = {key: dict(value) for key, value in _known().items()}
    if chip_file:
        for key, changes in _read(chip_file).items():
            tables.setdefault(key, {}).update(update_names(changes, "chips"))
    wanted = name.lower()
    for key, table in tables.items():
        aliases = table.get("aliases", ())
        if key.lower() == wanted or (isinstance(aliases, (list, tuple)) and wanted in aliases):
            return _make_chip(key, table, chip_file)
    raise UsageError(f"chip {name!r} is unknown; known chips are {', '.join(sorted(tables))}.")


def match_chip(target: Target, device_count: int | None = None) -> Chip | None:
    """Return the chip that a dump names, else the first of its kind, which is then assumed.

    A program for twice as many devices as there are chips has two in each.
    """
    tables, wanted = _known(), target.name.lower()
    names = [
        (len(name), key)
        for key, table in tables.items()
        for name in table.get("device_names", ())
        if name.lower() in wanted
    ]
    named = [max(names)[1]] if names else []  # "TPU v5" is in "TPU v5 lite", too
    alike = [key for key, table in tables.items() if target.kind in table.get("targets", ())]
    if target.hbm_bytes is not None and not target.name:
        # Of one architecture, the memory tells: an MI325X from an MI300X.
        alike.sort(key=lambda key: abs(_device_bytes(tables[key]) - (target.hbm_bytes or 0)))
    if not named and not alike:
        return None
    key = (named or alike)[0]
    is_halved = target.chip_count is not None and device_count == 2 * target.chip_count
    chip = _make_chip(key, tables[key] | ({"devices_per_chip": 2} if is_halved else {}), "")
    keys = "hbm_bytes", "hbm_bytes_per_second"
    own = {name: value for name in keys if (value := getattr(target, name))}
    if not named and (target.name or target.hbm_bytes):
        called = target.name or f"{target.kind} with {format_value(target.hbm_bytes, Unit.BYTES)}"
        own["description"] = f"{called}, else as {chip.description}"
    return replace(chip, **own)


def _device_bytes(table: Mapping[str, Any]) -> float:
    return float(table["hbm_bytes"]) / int(table.get("devices_per_chip", 1))


def list_chips() -> Mapping[str, str]:
    """Return the chips that are known without a file, by name, with what each is."""
    return {name: str(table.get("description", name)) for name, table in _known().items()}


@cache
def _known() -> Mapping[str, dict[str, Any]]:
    # No `importlib.resources`: it brings archives and compressions, which take longer than this.
    return _read(os.path.normpath(os.path.join(__file__, "../../../data/chips.toml")))  # noqa: PTH118


def _read(path: str) -> dict[str, dict[str, Any]]:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  pathlib takes longer as well
            tables = tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a TOML file: {error}.") from error
    except ValueError as error:
        raise UsageError(f"{path}: a number in it is too large.") from error
    except RecursionError as error:
        raise UsageError(f"{path}: the tables are nested too deeply.") from error
    for key, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {key!r} is outside a chip's table.")
    return tables


def _make_chip(name: str, table: Mapping[str, object], chip_file: str) -> Chip:
    """Divide a chip's figures among its devices; a value that is none raises UsageError."""

    def expect(key: str) -> Any:
        kind, expected = _KINDS.get(key, _FIGURE)
        try:
            return convert(table.get(key), kind)
        except ValidationError as error:
            raise UsageError(f"{chip_file}: {key} of {name!r} must be {expected}.") from error

    def find(key: str) -> Any:
        return expect(key) if key in table else None

    def expect_product(key: str) -> tuple[str, float]:
        if key.removeprefix(_BY_TYPE) not in PRODUCT_TYPES:
            known = ", ".join(PRODUCT_TYPES)
            raise UsageError(f"{chip_file}: {key} of {name!r} must end in one of {known}.")
        return key.removeprefix(_BY_TYPE), expect(key) / devices

    def share(key: str) -> float | None:
        return find(key) / devices if key in table else None

    devices = find("devices_per_chip") or 1
    return Chip(
        name,
        str(table.get("description", name)),
        int(expect("hbm_bytes") / devices),
        expect("hbm_bytes_per_second") / devices,
        expect("flops_per_second") / devices,
        devices,
        str(table.get("link", "links")),
        share("link_bytes_per_second"),
        find("link_latency_seconds"),
        table.get("link_within_node") is True,
        find("link_interconnect"),
        share("vmem_bytes_per_second"),
        share("vector_flops_per_second"),
        find("clock_hertz"),
        find("torus_axes") or 1,
        find("backend"),
        find("devices_per_node"),
        tuple(expect_product(key) for key in table if key.startswith(_BY_TYPE)),
    )


# How a backend computes what XLA leaves to it. GPU: `GetBlasComputationType` and `IsTf32Allowed`
# (xla/stream_executor/gpu/gpu_blas_lt.cc, xla/service/gpu/matmul_utils.cc) allow TF32 but for the
# highest precision. TPU multiplies in bfloat16, once, in three or in six parts
# (docs.jax.dev/en/latest/201/precision.html; the parts: `bf16_6x` of StableHLO's dot_general).
_COMPUTED_AS: Final[Mapping[ChipBackend | None, Mapping[str, str]]] = {
    "gpu": {"f32_default": "tf32", "f32_high": "tf32"},
    "tpu": {"f32_default": "bf16", "f32_high": "bf16_x3", "f32": "bf16_x6"},
}
ASSUMED_BF16: Final = (
    "product types without a known peak on the chip; they are assumed as fast as bfloat16"
)


def find_peak(name: str, chip: Chip) -> float | None:
    """Return the flops that a chip makes in a second of products of a type, None where unknown."""
    peaks = dict(chip.product_flops_per_second)
    taken = name if name in peaks else _COMPUTED_AS.get(chip.backend, {}).get(name, name)
    if taken == "tf32" not in peaks:  # AMD's chips of 2021 and 2025 have none
        taken = "f32"
    base, _, parts = taken.partition("_x")
    peak = chip.flops_per_second if base == "bf16" else peaks.get(base)
    return peak / int(parts or 1) if peak else None


def weigh_flops(flops: int, products: TypedFlops, chip: Chip, vector_flops: int = 0) -> int:
    """Return the flops at the chip's bfloat16 peak that take as long as these.

    `products` are those of them in other types, `vector_flops` those that are no product: other
    units make these at the same time, so that the longer counts. Where nobody states a peak flops
    count as they are.
    """
    vector = vector_flops * (chip.flops_per_second / (chip.vector_flops_per_second or inf))
    flops -= vector_flops if chip.vector_flops_per_second else 0
    more = 0.0
    for name, count in products:
        if (peak := find_peak(name, chip)) is not None:
            more += count * (chip.flops_per_second / peak - 1)
    return max(flops + round(more), round(vector), 0)


def weigh_cost(cost: Cost, chip: Chip, without_flops: int = 0) -> int:
    """Return the flops at the chip's bfloat16 peak that take as long as work does on the chip.

    That is its arithmetic, or what it moves through TPU's vector memory, where its speed is known.
    """
    flops, vector = cost.total_flops - without_flops, max(cost.vector_flops - without_flops, 0)
    moved = cost.vmem_bytes * chip.flops_per_second / (chip.vmem_bytes_per_second or inf)
    return max(weigh_flops(flops, cost.products, chip, vector), round(moved))


def list_unstated(products: TypedFlops, chip: Chip) -> tuple[str, ...]:
    """List the types of products that are priced as bfloat16, as no peak is stated for them."""
    unstated = (name for name, _ in products if find_peak(name, chip) is None)
    return tuple(dict.fromkeys(name.partition("_")[0] for name in unstated))
