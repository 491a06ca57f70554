"""What does one usually do about a part of a program's memory?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

PartKind: TypeAlias = Literal[
    "saved-activations",
    "logits",
    "optimizer-state",
    "parameters",
    "inputs",
    "missed-donation",
    "parameter-copy",
    "outputs",
    "temporaries",
    "constants",
]

# What a part is called; `{}` is the scope or the part of the arguments' tree.
TITLES: Final[Mapping[PartKind, str]] = {
    "saved-activations": "saved activations of {}",
    "logits": "logits in {}",
    "optimizer-state": "optimizer state {}",
    "parameters": "parameters {}",
    "inputs": "input {}",
    "missed-donation": "outputs beside {}",
    "parameter-copy": "copies of {}",
    "outputs": "outputs of {}",
    "temporaries": "temporaries of {}",
    "constants": "constants",
}
REMEDIES: Final[Mapping[PartKind, str]] = {
    "saved-activations": "checkpoint, or offload",
    "logits": "compute the loss in chunks, or lower precision",
    "optimizer-state": "shard, offload, or lower precision",
    "parameters": "shard, or lower precision",
    "inputs": "shard",
    "missed-donation": "donate",
    "parameter-copy": "keep them in the layout and precision they are used in",
    "outputs": "shard, or return less",
    "temporaries": "shard, smaller batches, or lower precision",
    "constants": "pass them as arguments, and shard",
}

PART_MEANINGS: Final[Mapping[PartKind, str]] = {
    kind: f"{title.format('…')}; the usual remedy: {REMEDIES[kind]}"
    for kind, title in TITLES.items()
}
