"""What does each kind of reason say, and what do its bytes count?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CAUSE_MEANINGS: Final[Mapping[str, str]] = {
    "rematerialization lost": "values live from the forward to the backward pass that were made "
    "again before",
    "rematerialization gained": "values are made again that lived from the forward to the "
    "backward pass before",
    "donation lost": "outputs have memory of their own that took that of donated parameters",
    "donation gained": "outputs take the memory of donated parameters, which had their own",
    "layers added": "members of a numbered family, layer_0 … layer_11, that only the new side has",
    "layers removed": "members of a numbered family, layer_0 … layer_11, that only the old side "
    "has",
    "loop unrolled": "copies of a loop's body stand where the old side has the loop",
    "loop rolled": "a loop stands where the old side has copies of its body",
    "trip count": "a loop makes more rounds, or fewer",
    "dimension": "arrays grew or shrank as a dimension of the inputs did: twice the batch, say",
    "products moved": "matrix products that other code computes: Triton, cuBLAS, YNNPACK, XLA",
    "dtype widened": "results of partners take more bits an element",
    "dtype narrowed": "results of partners take fewer bits an element",
    "dtype inside fusions": "operations inside fusions compute in another element type",
    "overlap lost": "a larger part of what collectives send has nothing at all that hides it",
    "overlap gained": "a smaller part of what collectives send has nothing at all that hides it",
    "collectives": "collectives of a kind are more, or fewer, not by layers that are new or gone",
    "axes": "collectives run over other axes of the mesh",
    "sharding": "parameters are cut otherwise among the devices",
    "operations": "opcodes and functions are new in a scope, or gone from it",
    "fusing": "there are more fusions for the same operations, or fewer",
    "values at the peak": "values are new at the peak, or gone from it, and no other reason "
    "accounts for half of its difference",
    "other": "what differs where there is no other reason",
}

MEASURE_MEANINGS: Final[Mapping[str, str]] = {
    "peak": "bytes held at the peak",
    "peak of all layers": "bytes that all layers of a numbered family hold at the peak",
    "donated": "bytes of donated parameters",
    "results": "bytes of the results of one run",
    "wire": "bytes that a device sends in one run",
    "exposed": "bytes that a device sends in one run with nothing that hides them",
    "traffic": "bytes moved in memory in one run",
}
