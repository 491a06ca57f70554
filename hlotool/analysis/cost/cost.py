"""What does something cost? The record that all of the cost model adds up."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.cost.products import (
    TypedFlops,
    add_typed_flops,
    most_typed_flops,
    repeat_typed_flops,
)


class Work(Struct, frozen=True):
    """Arithmetic of one operation, without what the computations it calls do."""

    flops: int = 0
    transcendentals: int = 0
    matrix_flops: int = 0


class Cost(Struct, frozen=True):
    """Arithmetic and memory traffic; the same units whether once or per run.

    `flops`, `transcendentals` and `bytes_accessed` are XLA's HloCostAnalysis.
    `matrix_flops` are those of dot, convolution, ragged-dot and scaled-dot.
    `custom_call_flops` are hidden in custom calls, and in no other figure.
    `memory_bytes` is what crosses memory space 0, custom calls included; `memory_traffic`
    says how it is counted.
    `unknown_custom_call_count` counts executions of custom calls that may compute anything,
    `unknown_traffic_count` of those that may move anything.
    `products` are those of `total_flops` that products in other types than bfloat16 take.
    `is_lower_bound`: the text leaves a size or a trip count open; `is_upper_bound`: something
    counted may not happen.
    """

    flops: int = 0
    transcendentals: int = 0
    bytes_accessed: int = 0
    matrix_flops: int = 0
    custom_call_flops: int = 0
    memory_bytes: int = 0
    unknown_custom_call_count: int = 0
    unknown_traffic_count: int = 0
    is_lower_bound: bool = False
    is_upper_bound: bool = False
    products: TypedFlops = ()

    @property
    def total_flops(self) -> int:
        """All the arithmetic that is known, that of custom calls too."""
        return self.flops + self.custom_call_flops

    @property
    def is_total_lower_bound(self) -> bool:
        """Whether `total_flops` leaves something out."""
        return self.is_lower_bound or self.unknown_custom_call_count > 0

    @property
    def is_flops_lower_bound(self) -> bool:
        """Whether `flops` leave out arithmetic that is done, that of custom calls too."""
        return self.is_total_lower_bound or self.custom_call_flops > 0

    @property
    def is_memory_lower_bound(self) -> bool:
        """Whether `memory_bytes` leaves something out."""
        return self.is_lower_bound or self.unknown_traffic_count > 0

    def with_bytes(self, bytes_accessed: int, memory_bytes: int) -> Cost:
        """Return the same arithmetic with other traffic."""
        return replace(self, bytes_accessed=bytes_accessed, memory_bytes=memory_bytes)

    def times(self, count: int, *, is_exact: bool = True) -> Cost:
        """Return the cost of `count` executions; of at least so many if not `is_exact`."""
        return Cost(
            self.flops * count,
            self.transcendentals * count,
            self.bytes_accessed * count,
            self.matrix_flops * count,
            self.custom_call_flops * count,
            self.memory_bytes * count,
            self.unknown_custom_call_count * count,
            self.unknown_traffic_count * count,
            self.is_lower_bound or not is_exact,
            self.is_upper_bound,
            repeat_typed_flops(self.products, count) if self.products else (),
        )


NOTHING = Cost()


def add_costs(costs: Iterable[Cost]) -> Cost:
    """Add costs up."""
    parts = list(costs)
    if len(parts) == 1:
        return parts[0]
    return Cost(
        sum(one.flops for one in parts),
        sum(one.transcendentals for one in parts),
        sum(one.bytes_accessed for one in parts),
        sum(one.matrix_flops for one in parts),
        sum(one.custom_call_flops for one in parts),
        sum(one.memory_bytes for one in parts),
        sum(one.unknown_custom_call_count for one in parts),
        sum(one.unknown_traffic_count for one in parts),
        any(one.is_lower_bound for one in parts),
        any(one.is_upper_bound for one in parts),
        add_typed_flops(one.products for one in parts if one.products),
    )


def largest_cost(costs: Iterable[Cost]) -> Cost:
    """Return the largest of each figure, as XLA does with the branches of a conditional."""
    parts = list(costs)
    if not parts:
        return NOTHING
    return Cost(
        max(one.flops for one in parts),
        max(one.transcendentals for one in parts),
        max(one.bytes_accessed for one in parts),
        max(one.matrix_flops for one in parts),
        max(one.custom_call_flops for one in parts),
        max(one.memory_bytes for one in parts),
        max(one.unknown_custom_call_count for one in parts),
        max(one.unknown_traffic_count for one in parts),
        any(one.is_lower_bound for one in parts),
        is_upper_bound=True,
        products=most_typed_flops(one.products for one in parts),
    )
