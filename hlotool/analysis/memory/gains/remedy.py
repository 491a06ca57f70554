"""What does one usually do about a part of a program's memory, and what first?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

# The easiest first. A donation costs nothing; what follows costs some time of each run, and a few
# lines; then what changes what a program gets, gives and learns, or needs more devices.
PartKind: TypeAlias = Literal[
    "missed-donation",
    "saved-activations",
    "logits",
    "parameter-copy",
    "optimizer-state",
    "outputs",
    "temporaries",
    "inputs",
    "parameters",
    "constants",
]
EASIEST_FIRST: Final[tuple[PartKind, ...]] = get_args(PartKind)

# What a part is called; `{}` is the scope or the part of the arguments' tree.
TITLES: Final[Mapping[PartKind, str]] = {
    "missed-donation": "outputs beside {}",
    "saved-activations": "saved activations of {}",
    "logits": "logits in {}",
    "parameter-copy": "copies of {}",
    "optimizer-state": "optimizer state {}",
    "outputs": "outputs of {}",
    "temporaries": "temporaries of {}",
    "inputs": "input {}",
    "parameters": "parameters {}",
    "constants": "constants",
}
REMEDIES: Final[Mapping[PartKind, str]] = {
    "missed-donation": "donate",
    "saved-activations": "checkpoint, or offload",
    "logits": "compute the loss in chunks",
    "parameter-copy": "keep one layout and precision",
    "optimizer-state": "offload, shard, lower precision",
    "outputs": "return less, or shard",
    "temporaries": "smaller batches, or shard",
    "inputs": "shard",
    "parameters": "shard, or lower precision",
    "constants": "pass as arguments, and shard",
}

PART_MEANINGS: Final[Mapping[PartKind, str]] = {
    kind: f"{title.format('…')}; the usual remedy: {REMEDIES[kind]}"
    for kind, title in TITLES.items()
}
