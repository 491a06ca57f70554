"""What the files beside a program's text tell: flags and build of the compiler, and the mesh.

Flags are those that XLA prints to `.debug_options`, and those of `tpu_comp_env.txt`. The mesh
stands in the text before optimization alone; of that text the header line is read, and only when
axes need it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.graph.backend import Backend
from hlotool.dump import siblings
from hlotool.dump.budget import DEFAULT_BUDGET
from hlotool.dump.files import DumpFile, Input
from hlotool.dump.groups import may_be_same_program, read_header_line
from hlotool.dump.modules import read_module_head
from hlotool.dump.read import read_entry_shardings, read_source
from hlotool.dump.text_kind import detect_kind
from hlotool.errors import HlotoolError
from hlotool.hlo.parser import parse_module
from hlotool.hlo.values import Target
from hlotool.text import Source

if TYPE_CHECKING:
    from hlotool.analysis.shardings.partitioned import PassTexts
    from hlotool.analysis.shardings.witness import Witness
    from hlotool.analysis.summary.counts import Compilation
    from hlotool.hlo import Mesh, Module

_DUMPING: Final = "xla_dump_"  # where and how the dump was written is no part of the program
_LINE = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?::\s*(?P<value>.*\S)|(?P<opens>\{))\s*")


def parse_debug_options(source: Source) -> Mapping[str, tuple[str, ...]]:
    """Return the values of each flag as printed; XLA prints those that are not at their default.

    options = { name ":" value newline | name "{" options "}" }

    A flag that is given several times has several values, in order; the fields of a nested
    message are joined to its name with a dot. Lines that are none of these are skipped.
    """
    found: dict[str, list[str]] = {}
    path: list[str] = []
    for line in source.text.splitlines():
        if (match := _LINE.fullmatch(line)) is None:
            if line.strip() == "}" and path:
                path.pop()
        elif match["opens"]:
            path.append(match["name"])
        else:
            found.setdefault(".".join([*path, match["name"]]), []).append(match["value"])
    return {name: tuple(values) for name, values in found.items()}


Flags: TypeAlias = Mapping[str, tuple[str, ...]]


class SiblingFlags(Struct, frozen=True):
    """The flags and the build that a program was compiled with; None where no file tells.

    `printed` are those of its `.debug_options`, `tpu` those of its `tpu_comp_env.txt`.
    """

    printed: Flags | None = None
    printed_path: str | None = None
    tpu: Flags | None = None
    tpu_path: str | None = None
    build: int | None = None

    def describe(self) -> Compilation:
        """Return them as an answer has them, those of a repeated flag joined; no mesh is here."""
        from hlotool.analysis.summary.counts import Compilation  # noqa: PLC0415

        flags = (
            f"{name}={','.join(values)}"
            for name, values in (self.printed or {}).items()
            if not name.startswith(_DUMPING)
        )
        return Compilation(
            flags=None if self.printed is None else tuple(flags),
            build=self.build,
            flags_path=self.printed_path,
            tpu_flag_count=None if self.tpu is None else len(self.tpu),
            tpu_flags_path=self.tpu_path,
        )


def read_flags(chosen: Input) -> SiblingFlags:
    """Read the files of flags beside a program's text.

    One that cannot be read tells nothing: no figure depends on it.
    """
    text = chosen.module or chosen.buffers
    path = text.raw_path if text and not text.part else ""
    printed, printed_path = _read(chosen.debug_options)
    tpu, tpu_path = _read(siblings.find_tpu_flags(path, text.budget) if text else None)
    return SiblingFlags(printed, printed_path, tpu, tpu_path, siblings.find_build(path))


_CYCLES: Final = re.compile(
    r'^ *(?:ROOT )?%?([\w.-]+) = .*"estimated_cycles":"(\d+)"', re.MULTILINE
)


def read_cycles(chosen: Input) -> Mapping[str, int]:
    """Return how many cycles XLA estimates of instructions, where TPU's last text lies beside."""
    text = chosen.module
    file = siblings.find_codegen(text.raw_path, text.budget) if text and not text.part else None
    with suppress(HlotoolError):
        if file is not None:
            said = read_source(file.raw_path, file.budget).text
            return {match[1]: int(match[2]) for match in _CYCLES.finditer(said)}
    return {}


_BACKENDS: Final[Mapping[str, Backend]] = {
    "cpu_after": "cpu", "gpu_after": "gpu", "xla_cpu_": "cpu", "xla_gpu_": "gpu", "xla_tpu_": "tpu",
}  # fmt: skip


def tell_backend(chosen: Input) -> Backend | None:
    """Return the backend that names of the program's files tell, else all flags beside it."""
    text = chosen.module or chosen.buffers
    if text is None or text.part:
        return None
    if siblings.find_build(text.raw_path) is not None:
        return "tpu"
    beside = (text.raw_path, *siblings.list_beside(text.raw_path, text.budget))
    named = [each.rpartition("/")[2] for each in beside]
    for names in (named[:1], named, _read(chosen.debug_options)[0] or ()):
        found = {each for name in names for mark, each in _BACKENDS.items() if mark in name}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


_FIELD: Final = r'\b%s: *"?([^"\n ]+(?: [^"\n]*)?)'
_TPU: Final = "TPU_VERSION_"


def read_target(chosen: Input) -> Target | None:
    """Return the device that a program was compiled for, as a profile or files beside it tell.

    Without these the file's name may tell its kind, as `sm_9.0a_gpu` does.
    """
    if chosen.measured is not None and chosen.measured.target is not None:
        return chosen.measured.target
    text = chosen.module or chosen.buffers
    path = text.raw_path if text and not text.part else ""
    file = siblings.find_target(path, text.budget) if text and path else None
    if file is not None:
        with suppress(HlotoolError):
            return parse_target(read_source(file.raw_path, file.budget).text)
    named = re.search(r"\.(?:sm_(\d+\.\d)|(gfx\w+?))\w*_gpu_after", path)
    return Target(kind=named[1] or named[2], is_sure=False) if named else None


def parse_target(text: str) -> Target:
    """Read a `gpu_target_config.pbtxt` or a `target_arguments.txt`: a field a line."""

    def find(name: str) -> str:
        match = re.search(_FIELD % name, text)
        return match[1].strip() if match else ""

    version, variant = find("version"), find("variant")
    if version.startswith(_TPU):
        bounds = re.findall(r"\b[xyz]: (\d+)", text)  # of chips in a host, and of hosts
        kind = f"{version.removeprefix(_TPU)} {variant}".strip()
        return Target(kind=kind, chip_count=prod(map(int, bounds)))
    at = text.find("cuda_compute_capability")
    inside = text[at : text.find("}", at)] if at >= 0 else ""
    major, minor = (
        match[1] if (match := re.search(rf"{name}: (\d+)", inside)) else "0"
        for name in ("major", "minor")
    )
    kind = find("gcn_arch_name").partition(":")[0] or f"{major}.{minor}"
    name = find("name") or find("device_description_str")
    size, speed = find("device_memory_size"), find("memory_bandwidth")
    return Target(name, kind, int(size or 0) or None, float(speed or 0) or None)


def _read(file: DumpFile | None) -> tuple[Flags, str] | tuple[None, None]:
    """Return the flags of a file, and its path."""
    if file is None:
        return None, None
    try:
        return parse_debug_options(file.read()), file.path
    except HlotoolError:
        return None, None


class SiblingMesh:
    """The mesh that the text before optimization names; looked for once, when first asked for.

    `path` is that of the text, None as long as no mesh was found there.
    """

    def __init__(self, before: DumpFile) -> None:
        self.path: str | None = None
        self._before = before
        self._mesh: Mesh | None = None
        self._is_known = False

    def find(self, module: Module) -> Mesh | None:
        """Return the mesh that names the axes of a module, None where the text has none."""
        if not self._is_known:
            # Start-up time: few programs have axes that no text of their own names.
            from hlotool.analysis.collectives.mesh import find_printed_mesh  # noqa: PLC0415

            line = _read_head(module, self._before)
            self._mesh = find_printed_mesh(line, module.header.device_count) if line else None
            self._is_known = True
            self.path = self._before.path if self._mesh else None
        return self._mesh


def _read_head(module: Module, before: DumpFile) -> str:
    """Return the header line of a text, '' unless it can be the text of the same program."""
    line = read_header_line(before)
    begin = detect_kind(module.source.text).begin
    header = module.header
    own = replace(
        read_module_head(module.source.text, begin),
        num_partitions=header.num_partitions,
        replica_count=header.replica_count,
    )
    return line if line and may_be_same_program(read_module_head(line), own) else ""


def ask_witnesses(chosen: Input, module: Module, *, with_results: bool) -> tuple[Witness, ...]:
    """Return what the files of a program say of its arrays, first what was found out last.

    A file that cannot be read, or is of another program, says nothing. Without results, of the text
    before optimization the parameters alone are parsed; other files are asked where it and the text
    itself leave any open. Nobody is asked about a program of one device: it has its arrays whole.
    """
    from hlotool.analysis.shardings import witness  # noqa: PLC0415

    own = witness.ask_module(module, chosen.module.path if chosen.module else "")
    if not with_results and module.header.num_partitions == 1:
        return (own,)
    text, before = chosen.module, chosen.before
    path = text.raw_path if text and not text.part else ""
    budget = text.budget if text else DEFAULT_BUDGET
    told = [own, *_ask(partial(_ask_before, module, with_results=with_results), before)]
    if not with_results and witness.are_parameters_told(told):
        return tuple(told)
    after_partitioning = [  # or right before it
        *_ask(partial(_ask_proto, module), siblings.find_proto(path, budget)),
        *_ask(_ask_settled, siblings.find_partitioning(path, budget)[0]),
        *_ask(_ask_mlir, siblings.find_shardy(path, budget)),
    ]
    return (own, *after_partitioning, *told[1:], *_ask(_ask_mlir, siblings.find_mlir(path, budget)))


def _ask(read: Callable[[DumpFile], Witness | None], file: DumpFile | None) -> Iterator[Witness]:
    """Yield what a file says, if it is there and can be read."""
    with suppress(HlotoolError):
        if file and (said := read(file)):
            yield said


def _ask_before(module: Module, file: DumpFile, *, with_results: bool) -> Witness | None:
    """Read the entry of the text before optimization, without what it calls."""
    from hlotool.analysis.shardings.witness import ask_module  # noqa: PLC0415

    if not (line := _read_head(module, file)):
        return None
    source = file.read()
    if not with_results:
        return ask_module(parse_signature(source, line), file.path)
    _, begin, entry = source.text.partition("\nENTRY ")
    return ask_module(parse_module(Source(f"{line}\n{begin}{entry}", file.path)), file.path)


def parse_signature(source: Source, line: str) -> Module:
    """Parse a module's header line, and of its entry the parameters alone.

    What the header says of the result has other names: `entry_layout`, `aliases`.
    """
    _, begin, entry = source.text.partition("\nENTRY ")
    line = line.replace("entry_computation_layout=", "entry_layout=", 1)
    line = line.replace("input_output_alias=", "aliases=", 1)
    return parse_module(Source(f"{line}\n{begin}{_cut_to_parameters(entry)}", source.name))


def _ask_proto(module: Module, file: DumpFile) -> Witness | None:
    """Read the fields of the final text's proto."""
    from hlotool.analysis.shardings.witness import ask_proto  # noqa: PLC0415

    said = read_entry_shardings(file.raw_path, file.budget)
    return ask_proto(module, said.parameters, said.result, file.path) if said else None


def _ask_settled(file: DumpFile) -> Witness:
    """Read the text right before the partitioner."""
    from hlotool.analysis.shardings.witness import ask_module  # noqa: PLC0415

    return ask_module(parse_module(file.read()), file.path, is_settled=True)


def _ask_mlir(file: DumpFile) -> Witness:
    """Read the program as JAX hands it to XLA, or what Shardy wrote when all was found."""
    from hlotool.analysis.shardings.witness import ask_mlir  # noqa: PLC0415
    from hlotool.hlo.shardy import scan_mlir  # noqa: PLC0415

    return ask_mlir(scan_mlir(read_source(file.raw_path, file.budget).text), file.path)


_PARAMETER: Final = " parameter("


def _cut_to_parameters(entry: str) -> str:
    """Return an entry with its parameters alone, of which the last is then its root."""
    kept = [entry[: entry.find("\n") + 1]]
    at = entry.find(_PARAMETER)
    while at >= 0:
        end = entry.find("\n", at)
        kept.append(entry[entry.rfind("\n", 0, at) + 1 : end + 1])
        at = entry.find(_PARAMETER, end) if end >= 0 else -1
    return f"{''.join(kept)}}}\n"


def read_pass_texts(chosen: Input) -> PassTexts:
    """Read the texts of passes around the partitioner; one that cannot be read tells nothing.

    Where the first is missing, what Shardy wrote of values stands for it.
    """
    from hlotool.analysis.shardings.partitioned import PassTexts  # noqa: PLC0415
    from hlotool.hlo.shardy import write_propagated  # noqa: PLC0415

    if (text := chosen.module) is None or text.part:
        return PassTexts()
    files = siblings.find_partitioning(text.raw_path, text.budget)
    modules: list[Module | None] = [None, None]
    for at, file in enumerate(files):
        with suppress(HlotoolError):
            modules[at] = parse_module(file.read()) if file else None
    paths = [file.path for file, module in zip(files, modules, strict=True) if file and module]
    shardy = None if modules[0] else siblings.find_shardy(text.raw_path, text.budget)
    with suppress(HlotoolError):
        if shardy and (said := write_propagated(read_source(shardy.raw_path, text.budget).text)):
            before = parse_module(Source(said, shardy.path))
            return PassTexts(before, modules[1], shardy.path, has_lines=False)
    return PassTexts(modules[0], modules[1], paths[0] if paths else None)
