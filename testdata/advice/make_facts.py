"""Write `facts.toml` of a half from what XLA said of each compilation.

    PYTHONPATH=testdata python testdata/advice/make_facts.py tune|judge|judged|unseen|aside|sealed

`[[remedy]]`: a program as it is and with one remedy. `[[flaw]]`: one with a flaw and without it;
where `same_program` is true the compiler makes the same of both. `[[quiet]]`: a near-miss.
`[[over_limit]]`: a limit at which a program does not fit, and its remedies, best first.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tarfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zstandard
from make.remedies import name_variant

HERE = Path(__file__).resolve().parent
JUDGED, UNSEEN, ASIDE, SEALED = "judged", "unseen", "aside", "sealed"  # beside this folder
PROGRAMS = {
    "tune": "flaws.py",
    "judge": "flaws_judge.py",
    JUDGED: "flaws_fresh.py",
}  # the others have none
MIB = 1 << 20
# A limit lies so far below what a program takes, as a share of what its best remedy gains.
SHARE = 0.6
LEAST = 0.05  # of what a program takes: what a remedy must gain for a limit to be set
DOES = {
    "checkpoint": "Wrap each layer (or stage) in jax.checkpoint.",
    "donate": "Donate the state, the cache or the input that comes back: donate_argnums.",
    "undonate": "Leave out donate_argnums.",
    "chunked-loss": "Compute head and loss in eight parts of the sequence, each checkpointed.",
    "bf16-activations": "Cast weights and activations to bfloat16 in the layers and the head.",
    "bf16-params": "Hold parameters and the optimizer's state in bfloat16, compute in float32.",
    "bf16": "Hold the state (or the arrays) in bfloat16, and compute in it.",
    "bf16-cache": "Hold the cache in bfloat16.",
    "half-batch": "Halve the batch (of a solver, the columns; of a pipeline, the rows).",
    "accumulate": "Divide the batch into four times as many micro-batches, and add up gradients.",
    "more-micro-batches": "Divide the batch of the pipeline into twice as many micro-batches.",
    "more-devices": "Use twice as many devices along the first axis of the mesh.",
    "divide-state": "Divide parameters and the optimizer's state over the devices of the batch.",
    "offload": "Save what a layer names `hidden` in the host's memory, by a checkpoint policy.",
    "offload-state": "Keep the optimizer's moments in the host's memory.",
    "constant-to-argument": "Pass the table as an argument; do not capture it.",
    "one-layout": "Hold the cache in the order of axes in which it is used.",
    "batch-in-parts": "Run the batch in four parts, one after the other: lax.map.",
}
_HEAD = re.compile(r"^\s*(?:ROOT )?%?[\w.-]+ = (\(.*?\)|\S+) ([\w-]+)\(")


def find_half(half: str) -> Path:
    """Return the folder of a half."""
    return HERE.parent / half if half in (JUDGED, UNSEEN, ASIDE, SEALED) else HERE / half


def list_facts(half: str) -> Iterator[str]:
    """Yield all facts as blocks of TOML."""
    programs = tomllib.loads((find_half(half) / "programs.toml").read_text("utf-8"))["program"]
    tables = [
        (path.name.partition(".")[0], json.loads(zstandard.decompress(path.read_bytes())))
        for path in sorted((find_half(half)).glob("*.json.zst"))
    ]
    limits = []
    for backend, said in tables:
        for program in programs:
            name = program["name"]
            base = said.get(f"{name}__base")
            if base is None or "error" in base:
                continue
            gains = {}
            remedies = [*program["remedies"], *program.get("remedies_of", {}).get(backend, ())]
            for remedy in remedies:
                one = said.get(f"{name}__{name_variant(remedy)}")
                if one is None:
                    continue
                yield write_remedy(program, backend, remedy, base, one)
                if "error" not in one:
                    gains[remedy] = base["reserved"] - one["reserved"]
            limits.append(write_limit(name, backend, base["reserved"], gains))
    yield from filter(None, limits)
    if half in PROGRAMS:
        yield from list_flaws(half, tables)


def write_remedy(
    program: dict[str, Any], backend: str, remedy: str, base: dict[str, Any], one: dict[str, Any]
) -> str:
    """Write what a remedy does to a program."""
    row = {
        "program": program["name"],
        "kind": program["kind"],
        "backend": backend,
        "chip": base["device"],
        "remedy": remedy,
        "does": " ".join(DOES[each] for each in remedy.split(" + ")),
        "base": f"{program['name']}/base",
        "member": f"{program['name']}/{name_variant(remedy)}",
    }
    if "error" in one:
        return write("remedy", {**row, "error": one["error"]})
    return write("remedy", row | write_sizes(base, one, "base_", ""))


def write_sizes(
    base: dict[str, Any], one: dict[str, Any], before: str, after: str
) -> dict[str, int]:
    """Return XLA's sizes of both."""
    return {
        f"{before}allocated": base["reserved"],
        f"{before}peak": base["live_at_peak"],
        f"{after}allocated": one["reserved"],
        f"{after}peak": one["live_at_peak"],
    }


def write_limit(name: str, backend: str, takes: int, gains: dict[str, int]) -> str:
    """Write a limit at which a program does not fit, where a remedy gains enough."""
    best = max(gains.values(), default=0)
    if best < takes * LEAST:
        return ""
    limit = int(takes - SHARE * best) // MIB * MIB
    if takes - best > limit:  # less than a MiB is gained
        return ""
    ordered = sorted((one for one in gains if gains[one] > 0), key=lambda one: -gains[one])
    return write(
        "over_limit",
        {
            "program": name,
            "backend": backend,
            "limit": limit,
            "allocated": takes,
            "best_first": ordered,
            "gains": [gains[one] for one in ordered],
            "fits": [one for one in ordered if takes - gains[one] <= limit],
        },
    )


def list_flaws(half: str, tables: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    """Yield the flaws and the near-misses."""
    source = (HERE.parent / "make" / "programs" / PROGRAMS[half]).read_text("utf-8")
    tree = ast.parse(source)
    does = {
        one.name: ast.get_docstring(one) for one in tree.body if isinstance(one, ast.FunctionDef)
    }
    kinds = find_kinds(tree)
    for backend, said in tables:
        shapes = count_instructions(find_half(half) / f"{backend}.tar.zst")
        for key, one in said.items():
            name, variant = key.split("__")
            row = {
                "program": name,
                "backend": backend,
                "chip": one["device"],
                "does": does.get(name),
            }
            if "error" in one or variant not in ("flaw", "quiet"):
                continue
            if variant == "quiet":
                sizes = {"allocated": one["reserved"], "peak": one["live_at_peak"]}
                yield write("quiet", row | {"member": f"{name}/quiet"} | sizes)
                continue
            mended = said[f"{name}__mended"]
            members = {"flaw": f"{name}/flaw", "mended": f"{name}/mended"}
            same = shapes[members["flaw"]] == shapes[members["mended"]]
            sizes = write_sizes(one, mended, "", "mended_")
            more = {"kind": kinds[name], **row, **members, "same_program": same, **sizes}
            yield write("flaw", more)


def find_kinds(tree: ast.Module) -> dict[str, str]:
    """Return the kind of each flawed program, from `TRIALS`."""
    (trials,) = (
        one.value
        for one in tree.body
        if isinstance(one, ast.AnnAssign) and one.value and ast.unparse(one.target) == "TRIALS"
    )
    return {
        name: kind
        for kind, names in re.findall(r"'([\w-]+)': \{([^}]*)\}", ast.unparse(trials))
        for name in re.findall(r"(\w+):", names)
    }


def count_instructions(path: Path) -> dict[str, Counter[tuple[str, str]]]:
    """Count the instructions of each final text by shape and opcode, without parameters."""
    data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(path.read_bytes())).read()
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if member.name.endswith("after_optimizations.txt"):
                start = member.offset_data
                text = data[start : start + member.size].decode()
                heads = map(_HEAD.match, text.splitlines())
                rows = Counter((head[1], head[2]) for head in heads if head is not None)
                kept = {row: count for row, count in rows.items() if row[1] != "parameter"}
                found[member.name.rpartition("/")[0]] = Counter(kept)
    return found


def write(table: str, row: dict[str, Any]) -> str:
    """Write one block."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in row.items()]
    return "\n".join((f"[[{table}]]", *lines)) + "\n"


def main(half: str) -> None:
    """Write the facts of a half."""
    (find_half(half) / "facts.toml").write_text("\n".join(list_facts(half)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
