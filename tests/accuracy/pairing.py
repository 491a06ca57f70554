"""How many pairs and changes of an edited module does `diff` find, and how many are right?

Every kind of edit is made alone, at several places of every base; then 5, 20, 60 and 150 random
edits at once. Each text is compared as it is, with other names and another order, and without
metadata as well. Layers are put into and taken out of a model of unrolled ones. Some edits are
made at places that nobody looked at while the matching was written: they are counted apart.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dump_files import ROOT
from edits import kinds, moves
from edits.kinds import Edit
from edits.layers import renumber
from edits.listing import Listing, Print, list_module
from edits.measure import Score, judge

TABLE = ROOT / "docs" / "edits.csv"
HEADING = "edit,names and metadata,cases,pair precision,pair recall,change precision,change recall"
STYLES = {
    "kept": Print(),
    "shuffled": Print(is_shuffled=True),
    "shuffled no metadata": Print(is_shuffled=True, has_metadata=False),
}
BASES = (
    "hlo/gpu_train_step.txt",
    "hlo/tpu_train_step.txt",
    "hlo/cpu_train_step.txt",
    "dumps/gpu_h100/mlp_train/module_0001.jit_train_step.sm_9.0a_gpu_after_optimizations.txt",
)
EDITS: tuple[Edit, ...] = (
    kinds.insert_unary, kinds.insert_for_one_user, kinds.insert_converts, kinds.insert_copy,
    kinds.insert_scale, kinds.insert_barrier, kinds.insert_in_fusion, kinds.remove_unary,
    kinds.remove_binary, kinds.remove_collective, kinds.replace_unary, kinds.replace_binary,
    kinds.replace_by_three, kinds.replace_in_fusion, kinds.rewrite_fusion, kinds.change_dtype,
    kinds.change_dimension, kinds.change_layout, kinds.change_space, kinds.change_constant,
    kinds.change_dimensions, kinds.change_config, kinds.change_sharding, kinds.change_groups,
    kinds.change_fusion_kind, kinds.change_target, kinds.swap_operands, kinds.rewire,
    kinds.add_parameter, kinds.add_result, kinds.duplicate, kinds.make_async,
    moves.outline, moves.inline, moves.fuse, moves.split_fusion, moves.merge_fusions, moves.hoist,
)  # fmt: skip
WHOLE: tuple[Edit, ...] = (kinds.rename_scopes, kinds.widen_everything, kinds.double_batch)
Row: TypeAlias = tuple[str, str, int, Score]
TOGETHER = (5, 20, 60, 150)
KNOWN = (0,)
HELD_OUT = (1001, 1002)  # seeds of places that nobody looked at
ELSEWHERE = " at other places"
LAYERS = {
    "layer added at the end": (range(8), range(9)),
    "layer removed at the end": (range(8), range(7)),
    "four layers added": (range(8), range(12)),
    "wide layer put in": ((0, 1, 2, 3, 4, 5), (0, 1, 100, 2, 3, 4, 5)),
    "wide layer taken out": ((0, 1, 100, 2, 3, 4), (0, 1, 2, 3, 4)),
    "wide layer moved": ((0, 1, 100, 2, 3, 4), (0, 1, 2, 3, 100, 4)),
}


def measure_edits() -> Iterator[Row]:
    """Yield what was edited, how it was printed, in how many cases, and the sum of the scores."""
    for edit in (*EDITS, *WHOLE):
        yield from _measure(_title(edit), (edit,), 1, KNOWN)
    for count in TOGETHER:
        yield from _measure(f"{count} at once", EDITS, count, KNOWN)
    for name, (before, after) in LAYERS.items():
        old, new = renumber(before, after)
        for style, how in STYLES.items():
            yield name, style, 1, judge(old, new, how, 1)
    yield from _measure_singles("one edit" + ELSEWHERE, HELD_OUT)
    for count in TOGETHER:
        yield from _measure(f"{count} at once{ELSEWHERE}", EDITS, count, HELD_OUT)


def _measure_singles(name: str, seeds: Sequence[int]) -> Iterator[Row]:
    """Add up all kinds of edit, each made alone."""
    sums: dict[str, tuple[int, Score]] = {}
    for edit in EDITS:
        for _, style, cases, score in _measure(_title(edit), (edit,), 1, seeds):
            count, total = sums.get(style, (0, Score()))
            sums[style] = count + cases, total + score
    for style, (count, total) in sums.items():
        yield name, style, count, total


def _title(edit: Edit) -> str:
    return edit.__name__.replace("_", " ")


def row(name: str, style: str, count: int, score: Score) -> str:
    """Write one row of the table."""
    shares = (
        score.new_pairs / max(1, score.found_pairs),
        score.new_pairs / max(1, score.true_pairs),
        *(_share(score.new_changes, whole) for whole in (score.found_changes, score.true_changes)),
    )
    return ",".join((name, style, str(count), *(f"{share:.4f}" for share in shares)))


def summarize(found: list[Row]) -> dict[str, tuple[int, Score]]:
    """Add up single edits, those of everything, several at once, and layers."""
    groups: dict[str, tuple[int, Score]] = {}
    for name, _, cases, score in found:
        group = _group(name)
        count, total = groups.get(group, (0, Score()))
        groups[group] = count + cases, total + score
    return groups


def _group(name: str) -> str:
    if name in LAYERS:
        return "layers"
    if name in {_title(one) for one in WHOLE}:
        return "everything changed"
    elsewhere = ELSEWHERE if name.endswith(ELSEWHERE) else ""
    return ("5 to 150 edits" if "at once" in name else "one edit") + elsewhere


@cache
def base(name: str) -> Listing:
    """Return a program to edit a copy of."""
    listing = list_module((ROOT / "testdata" / name).read_text("utf-8"))
    listing.drop_dead()
    return listing


def _measure(name: str, edits: tuple[Edit, ...], count: int, seeds: Sequence[int]) -> Iterator[Row]:
    """Edit every base, once for each seed."""
    for style, how in STYLES.items():
        total, cases = Score(), 0
        for place, name_ in enumerate(BASES):
            for seed in seeds:
                chooser = random.Random(f"{name.removesuffix(ELSEWHERE)} {place} {seed}")  # noqa: S311  repeatable
                edited = base(name_).copy()
                done = sum(chooser.choice(edits)(edited, chooser) for _ in range(count))
                if done:
                    edited.drop_dead()
                    total += judge(base(name_), edited, how, seed)
                    cases += 1
        yield name, style, cases, total


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def write_pairing(found: Iterable[Row]) -> str:
    """Write the whole table, the sums last."""
    rows = list(found)
    lines = [HEADING, *(row(*one) for one in rows)]
    lines += [
        row(f"all: {group}", "", cases, score) for group, (cases, score) in summarize(rows).items()
    ]
    return "".join(f"{line}\n" for line in lines)


def judge_pairing(found: Iterable[Row]) -> str:
    """Say what the table comes to."""
    parts = [
        f"{group} {_share(one.new_pairs, one.found_pairs):.1%} and "
        f"{_share(one.new_pairs, one.true_pairs):.1%}"
        for group, (_, one) in summarize(list(found)).items()
    ]
    return f"Precision and recall of pairs: {'; '.join(parts)}."


if __name__ == "__main__":
    print(write_pairing(measure_edits()))  # noqa: T201
