"""The figures that later checks compare with: how they are written, found again, and limited.

`hlotool check --update-baseline` writes the figures of every module, sorted and without those that
are unknown, so that the file is fit for review. A check finds a module again as `hlotool diff` does
(`pair_candidates`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from hlotool import __version__
from hlotool.compare.changes.figures import DIFFED
from hlotool.compare.inputs import Candidate
from hlotool.compare.pairing import Pairing, pair_candidates
from hlotool.dump import saved
from hlotool.dump.identity import Identity, name_programs
from hlotool.dump.read import display_name, read_source
from hlotool.errors import UsageError
from hlotool.hlo.attribute_values import drop_tables
from hlotool.program.metrics import METRICS
from hlotool.program.program import Program
from hlotool.table.sums import group_by
from hlotool.table.words import list_some

NO_BASELINE: Final = "there is no baseline; give --baseline, or write one with --update-baseline"
_LISTED: Final = 3  # modules named where none is the one asked for


class Earlier(Struct, frozen=True):
    """The modules of a baseline, or why there are none."""

    modules: tuple[Candidate, ...] = ()
    missing: str = NO_BASELINE


def pair_modules(earlier: Sequence[Candidate], modules: Sequence[Candidate]) -> list[Pairing]:
    """Pair what was recorded with modules; the only one of a record is no other's, though."""
    pairs = pair_candidates(earlier, modules)
    old, new = pairs[0].old, pairs[0].new
    if pairs[0].way != "the only ones" or old is None or new is None:
        return pairs
    is_summary = old.schema in (saved.SUMMARY_SCHEMA, saved.DIRECTORY_SCHEMA)
    if old.saved and not is_summary and old.name != new.name:
        return [Pairing(old, None, name=old.key), Pairing(None, new, name=pairs[0].name)]
    return pairs


def explain_missing(pair: Pairing, baseline: Earlier) -> str:
    """Say why a module has none in a baseline."""
    if not baseline.modules:
        return baseline.missing
    if not pair.is_ambiguous:
        listed = list_some([one.key for one in baseline.modules], _LISTED)
        return f"the baseline lacks {pair.name!r}; it has {listed}"
    same = [one.key for one in baseline.modules if pair.new and one.name == pair.new.name]
    why = f"the baseline has several modules {pair.name!r}"
    return f"{why}; it holds {list_some(same, _LISTED)}"


def note_alike(modules: Sequence[Candidate], names: Sequence[str]) -> tuple[str, ...]:
    """Say which modules have one key, so that a later run may not know which is which."""
    groups = group_by(zip(modules, names, strict=True), lambda one: one[0].call_key)
    return tuple(
        f"{list_some([name for _, name in group])}: these differ only in content. Dump "
        "each into its own folder, or rename the functions."
        for group in groups.values()
        if len(group) > 1
    )


_KINDS: Final = ("kind", "count", "executions", "message_bytes_per_step", "sent_bytes_per_step")


def known_metrics(program: Program) -> dict[str, object]:
    """Return the figures that diffs compare, as far as they are known, by their names."""
    figures = {path: program.metric(path) for path in DIFFED}
    return {path: value for path, value in figures.items() if value is not None}


def measure_identity(program: Program, module: Candidate) -> Identity:
    """Return what a later run knows a program by."""
    return replace(module.identify(), name=module.name, fingerprint=program.fingerprint)


def measure_baseline(program: Program, module: Candidate) -> saved.SavedSummary:
    """Return the figures that diffs compare, as far as they are known, and the input program.

    That is the text before optimizations, packed: of it a diff reads what was changed.
    """
    chosen = module.input
    figures = known_metrics(program)
    for path in tuple(figures):  # what is a bound stays one
        block, _, _ = path.rpartition(".")
        is_lower, is_upper = program.bounds(path)
        figures |= {f"{block}.{METRICS[path].lower_flag}": True} if is_lower else {}
        figures |= {f"{block}.is_upper_bound": True} if is_upper else {}
    if program.step_estimate is not None:
        figures["step_time.machine"] = program.step_estimate.machine
    if program.module:
        totals = program.collectives.totals
        if totals.machine is not None:
            figures["collectives.machine"] = totals.machine
        figures["collectives.by_kind"] = [
            {name: getattr(row, name) for name in _KINDS} for row in totals.by_kind
        ]
    made = replace(saved.make_summary(figures), identity=measure_identity(program, module))
    if chosen is None or chosen.before is None or program.module is None:
        return made
    before = drop_tables(chosen.before.read().text)
    length = len(before) + len(program.module.source.text)
    return replace(made, input_program=saved.pack_program(before, length))


def write_baseline(modules: Mapping[str, saved.SavedSummary], kept: Mapping[str, object]) -> str:
    """Return the text of a baseline: sorted, integer bytes, fit for review.

    `kept` are modules as an older text has them; those measured take the place of their own.
    """
    document = to_builtins(saved.BaselineDocument(__version__, dict(modules)))
    document["modules"] = {**kept, **document["modules"]}
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def read_modules(path: str) -> tuple[dict[str, object], tuple[Candidate, ...]]:
    """Return the modules of a baseline as they stand in it, and what they are.

    None where nothing is there yet.

    Raises UsageError for any other file, and InputError for a baseline that is damaged.
    """
    place = Path(path)
    if not place.is_dir() and not (place.is_file() and place.stat().st_size):
        return {}, ()
    try:
        schema = saved.read_schema(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        schema = ""
    if schema != saved.BASELINE_SCHEMA:
        name = display_name(path)
        raise UsageError(f"--update-baseline: {name} is not a baseline; it was not overwritten.")
    source = read_source(path)
    read = saved.read_saved(source)  # raises before any of a damaged one is written again
    document: Any = saved.update_document(json.loads(source.text))
    modules: dict[str, object] = document.get("modules", {})
    return modules, tuple(
        Candidate(one.name, path, saved=one, schema=read.schema) for one in read.modules
    )


def place_modules(
    modules: Sequence[Candidate], kept: Sequence[Candidate]
) -> tuple[list[str], dict[str, str]]:
    """Return what modules are called beside those of a baseline that stay, and these by key.

    A module takes the place of its own. What was kept without an identity stays as it is called.
    """
    gone = {id(one.old) for one in pair_modules(kept, modules) if one.new} if kept else set()
    stay = [one for one in kept if id(one) not in gone]
    names = name_programs([one.named() for one in (*modules, *stay)])
    rest = {
        one.key: name if one.saved and one.saved.identity else one.key
        for one, name in zip(stay, names[len(modules) :], strict=True)
    }
    return names[: len(modules)], rest


# The first hlotool.toml: limits from the figures that the programs have today.

_LIMITED: Final = {"memory": "buffers.peak_bytes", "sent": "collectives.sent_bytes_per_step"}
_UNITS: Final = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
_LEAST: Final = 10  # of its unit, so that rounding up adds little


def write_config(modules: Mapping[str, saved.SavedSummary], baseline: str) -> str:
    """Return a configuration: what any program may grow, and what each may take, a tenth more.

    A figure that is not known, or 0 everywhere, has no limit. Programs of one name and
    folder share the limit of the largest.
    """
    lines = [f"baseline = {json.dumps(baseline)}", "", "# Any program: growth since the baseline."]
    for what, metric in _LIMITED.items():
        sizes = [_read_size(one, metric) for one in modules.values()]
        if any(sizes) and None not in sizes:
            lines += [*_write_budget(f"growth of {what}", metric), 'max_increase = "5%"']
    lines += ["", "# Each program: a tenth above its figures of today."]
    has_folders = any(one.identity and one.identity.folder for one in modules.values())
    for what, metric in _LIMITED.items():
        most: Counter[tuple[str, str]] = Counter()
        for one in modules.values():
            known = one.identity or Identity()
            most |= Counter({(known.folder, known.name): _read_size(one, metric) or 0})
        for (folder, name), size in most.items():
            about = escape(f"{folder}/{name}") if has_folders else f"^{name}$"
            limit = _write_size(size * 11 // 10)
            lines += _write_budget(f"{what} of {f'{folder}/{name}'.lstrip('/')}", metric)
            lines += [f"module = {json.dumps(about)}", f'max = "{limit}"']
    return "\n".join([*lines, ""])


def _write_budget(name: str, metric: str) -> Iterator[str]:
    yield from ("", "[[budget]]", f"name = {json.dumps(name)}", f'metric = "{metric}"')


def _read_size(module: saved.SavedSummary, metric: str) -> int | None:
    block, _, name = metric.rpartition(".")
    found = module.record(block).get(name)
    return found if isinstance(found, int) else None


def _write_size(size: int) -> str:
    unit = next(one for one, width in _UNITS.items() if size >= _LEAST * width or width == 1)
    return f"{-(-size // _UNITS[unit])}{unit}"
