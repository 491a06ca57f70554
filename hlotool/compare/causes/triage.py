"""Who can have done it: the program that XLA was given, a flag, or the compiler?"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hlotool.fields import COUNT, NUMBER, figure


class Triage(Struct, frozen=True):
    """What both sides were compiled from, and under what. Null where a dump does not tell."""

    is_input_identical: Annotated[
        bool | None,
        figure(
            "whether the texts before optimizations are the same program; null where one is missing"
        ),
    ]
    has_same_operations: Annotated[
        bool | None,
        figure("whether these run the same operations on the same shapes, put into any functions"),
    ]
    flag_count: Annotated[
        int | None, figure("flags that differ; null where a side printed none", COUNT)
    ]
    left_build: Annotated[int | None, figure("number of the TPU compiler's build", NUMBER)]
    right_build: Annotated[int | None, figure("number of the TPU compiler's build", NUMBER)]
    left_backend: Annotated[str | None, figure("whose marks the text bears; null where none")] = (
        None
    )
    right_backend: Annotated[str | None, figure("whose marks the text bears; null where none")] = (
        None
    )

    @property
    def has_other_backend(self) -> bool:
        """Whether the sides were compiled for different backends, and both are known."""
        return None not in {self.left_backend, self.right_backend} and (
            self.left_backend != self.right_backend
        )
