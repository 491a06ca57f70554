"""What the files beside a program's text tell: flags and build of the compiler, and the mesh.

Flags are those that XLA prints to `.debug_options`, and those of `tpu_comp_env.txt`. The mesh
stands in the text before optimization alone; of that text the header line is read, and only when
axes need it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.dump.budget import DEFAULT_BUDGET
from hlotool.dump.files import DumpFile, Input
from hlotool.dump.groups import read_header_line
from hlotool.dump.read import read_entry_shardings, read_source
from hlotool.dump.siblings import find_build, find_mlir, find_proto, find_tpu_flags
from hlotool.errors import HlotoolError
from hlotool.text import Source

if TYPE_CHECKING:
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
        match = _LINE.fullmatch(line)
        if match is None:
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
    tpu, tpu_path = _read(find_tpu_flags(path, text.budget) if text else None)
    return SiblingFlags(printed, printed_path, tpu, tpu_path, find_build(path))


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
    from hlotool.dump.groups import may_be_same_program  # noqa: PLC0415
    from hlotool.dump.modules import read_module_head  # noqa: PLC0415
    from hlotool.dump.text_kind import detect_kind  # noqa: PLC0415

    line = read_header_line(before)
    begin = detect_kind(module.source.text).begin
    header = module.header
    own = replace(
        read_module_head(module.source.text, begin),
        num_partitions=header.num_partitions,
        replica_count=header.replica_count,
    )
    return line if line and may_be_same_program(read_module_head(line), own) else ""


_PARAMETER: Final = re.compile(r"^ +%?[\w.-]+ = \S+ parameter\(.*", re.MULTILINE)


def _cut_parameters(head: str, text: str) -> str:
    """Write a module that has the parameters of another's entry, and returns nothing."""
    begin = text.find("\nENTRY ")
    lines = _PARAMETER.findall(text, max(begin, 0), text.find("\n}", begin))
    head = head.replace("entry_computation_layout=", "entry_before=", 1)
    return "\n".join((head, "ENTRY parameters {", *lines, "  ROOT none = () tuple()", "}"))


def ask_witnesses(chosen: Input, module: Module, *, in_full: bool) -> tuple[Witness, ...]:
    """Return what the files of a program say of its arrays, first what was found out last.

    A file that cannot be read, or is of another program, says nothing. Where it need not be in
    full, of the files beside the text a header line alone is read, which is a thousandth of it, and
    the lines of the parameters if the text itself has no shardings, as on TPU.
    """
    from hlotool.analysis.shardings import witness  # noqa: PLC0415
    from hlotool.hlo.header_parser import parse_header  # noqa: PLC0415
    from hlotool.hlo.parser import parse_module  # noqa: PLC0415
    from hlotool.hlo.scanner import Scanner  # noqa: PLC0415
    from hlotool.hlo.shardy import scan_mlir  # noqa: PLC0415

    text, before = chosen.module, chosen.before
    path = text.raw_path if text and not text.part else ""
    budget = text.budget if text else DEFAULT_BUDGET
    found: list[Witness] = []
    if not in_full:
        with suppress(HlotoolError):
            found.append(witness.ask_module(module, text.path if text else ""))
            if before and (line := _read_head(module, before)):
                if not any(told.shardings for told in found[0].parameters):
                    source = Source(_cut_parameters(line, before.read().text), before.path)
                    found.append(witness.ask_module(parse_module(source), before.path))
                _, header = parse_header(Scanner(Source(line, before.path)))
                found.append(witness.ask_header(header, before.path))
        return tuple(found)
    found.append(witness.ask_module(module, text.path if text else ""))
    with suppress(HlotoolError):
        if (proto := find_proto(path, budget)) and (
            said := read_entry_shardings(proto.raw_path, budget)
        ):
            found.append(witness.ask_proto(module, said.parameters, said.result, proto.path))
    with suppress(HlotoolError):
        if before and (line := _read_head(module, before)):
            # What the entry calls, and where its lines come from, is not asked for.
            _, begin, entry = before.read().text.partition("\nENTRY ")
            source = Source(f"{line}\n{begin}{entry}", before.path)
            found.append(witness.ask_module(parse_module(source), before.path))
    with suppress(HlotoolError):
        if mlir := find_mlir(path, budget):
            found.append(
                witness.ask_mlir(scan_mlir(read_source(mlir.raw_path, budget).text), mlir.path)
            )
    return tuple(found)
