"""Names that tell instructions apart: in some print styles a name stands in many computations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hlotool.ir.module import Instruction, Module


def name_instructions(module: Module) -> Mapping[Instruction, str]:
    """Return a name for every instruction that no other has.

    What a compiler dumps has unique names, and they stay. In canonical and fingerprint
    prints `tmp_0` stands in every computation; it becomes `body/tmp_0`, or where computations
    have no names either, `tmp_0#2` for the second.
    """
    named = {one: one.name for one in module.instructions()}
    if len(set(named.values())) == len(named):
        return named
    counts = Counter(named.values())
    for one, name in named.items():
        if counts[name] > 1 and one.computation is not module.entry and one.computation.name:
            named[one] = f"{one.computation.name}/{name}"
    taken: Counter[str] = Counter()
    for one, name in named.items():
        taken[name] += 1
        if taken[name] > 1:
            named[one] = f"{name}#{taken[name]}"
    return named
