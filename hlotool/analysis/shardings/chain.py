"""The chain from what the user wrote to the collectives that pay for it.

It goes from the annotation of a value, over what took its spec over, to the operation that needs
another one, over what this took its own from, back to the annotation that asked for that; then
come the collectives. Its middle stands in the text before the partitioner alone. Without it there
are the value and the operation, as far as the final text names them, and the collectives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.origin import write_short_source
from hlotool.analysis.shardings.causes import SUMS, SpecReader
from hlotool.analysis.shardings.partitioned import Partitioned, Passage, is_annotation
from hlotool.analysis.shardings.report import ArrayRow, list_axes
from hlotool.analysis.shardings.rows import MORE, ChainRow, Link, ReshardRow
from hlotool.errors import UsageError
from hlotool.hlo import Instruction, Module
from hlotool.hlo.groups import Sharding
from hlotool.table.words import list_some

_SUGGESTED: Final = 3
_NAMELESS: Final = "(a value without a name)"


def explain_chain(
    name: str,
    reshards: Sequence[ReshardRow],
    module: Module,
    partitioned: Partitioned,
    *,
    reader: SpecReader,
    arguments: Sequence[ArrayRow],
) -> tuple[ChainRow, ...]:
    """Return the chain of a collective, or of all that move a value of that name.

    Raises UsageError where no collective and no value that one moves is called so.
    """
    wanted = name.removeprefix("%")
    chosen = [
        row
        for row in reshards
        if wanted in (row.collective, (row.value or "").partition(MORE)[0], *row.arguments)
    ]
    if not chosen:
        some = list_some([row.collective for row in reshards], _SUGGESTED) if reshards else "none"
        raise UsageError(
            f"--why: no collective is named {name!r} or moves that value; collectives here: {some}."
        )
    given = {one.name: one for one in arguments}
    found: list[ChainRow] = []
    seen: set[tuple[str | None, ...]] = set()
    for row in chosen:
        if (key := _key(row)) not in seen:
            seen.add(key)
            is_known = row.value and row.from_text
            paying = [one for one in reshards if one is row or (is_known and key == _key(one))]
            found += _Chain(row, module, partitioned, reader, given).list_links(paying)
    return tuple(found)


def _key(row: ReshardRow) -> tuple[str | None, ...]:
    return row.value, row.from_text, row.to_text, row.needed_by


class _Chain(Struct, frozen=True):
    """Makes the links of one chain."""

    row: ReshardRow
    module: Module
    partitioned: Partitioned
    reader: SpecReader
    arguments: Mapping[str | None, ArrayRow]

    def list_links(self, paying: Sequence[ReshardRow]) -> Iterator[ChainRow]:
        """Yield the links, the collectives last."""
        row = self.row
        operation = self.module.find_instruction(row.operation)
        passage = self.partitioned.find(operation) if operation else None
        value = self.partitioned.find_operation(passage.value) if passage else None
        if row.cause in SUMS and value is not None:
            yield from self._list_parts(value)
        else:
            yield from self._list_ends(passage, value)
        for one in paying:
            link = self._make("collective", one.collective, one.source)
            yield replace(link, cause=one.cause, sent_bytes_per_step=one.sent_bytes_per_step)
        if row.via_text:
            detour = self._make("detour", row.value or "", None, row.via_text)
            yield replace(detour, sent_bytes_per_step=row.via_sent_bytes_per_step)

    def _list_parts(self, summed: Instruction) -> Iterator[ChainRow]:
        """Yield what a sum is made of: values that are sharded, and what adds up their parts."""
        row = self.row
        for operand in dict.fromkeys(summed.operands):
            if (sharding := operand.sharding()) and sharding.kind != "replicated":
                yield from self._walk(operand, sharding, "value")
        yield self._make("needed", row.value or "", row.source, row.to_text, row.to_spec)

    def _list_ends(self, passage: Passage | None, value: Instruction | None) -> Iterator[ChainRow]:
        """Yield where a value comes from, and what needs it otherwise."""
        row = self.row
        if value is not None and (sharding := value.sharding()):
            links = list(self._walk(value, sharding, "value"))
            if links[0].link == "value":
                yield from self._list_argument()
            yield from links
        elif row.value or row.from_text:
            if row.value not in row.arguments:
                yield from self._list_argument()
            yield self._make("value", row.value or _NAMELESS, None, row.from_text, row.from_spec)
        end, needed_by = (passage.end, passage.needed_by) if passage else (None, None)
        own = needed_by.sharding() if needed_by and self.partitioned.is_before(needed_by) else None
        if needed_by and end and own and own.text == end.text:
            yield from reversed(list(self._walk(needed_by, end, "needed")))
        elif row.needed_by:
            yield self._make("needed", row.needed_by, row.source, row.to_text, row.to_spec)

    def _list_argument(self) -> Iterator[ChainRow]:
        """Yield the argument whose elements are moved, as the user sharded it."""
        names = self.row.arguments
        one = self.arguments.get(names[0]) if len(names) == 1 else None
        if one is not None and one.name != self.row.value:
            yield self._make("annotation", names[0], None, one.spec_text, one.spec)

    def _walk(self, last: Instruction, sharding: Sharding, link: Link) -> Iterator[ChainRow]:
        """Yield the way from an annotation to an operation, which is the last."""
        way = self.partitioned.find_annotation(last, sharding) or [last]
        spec = self.reader.read(sharding, last)
        for one in reversed(way):
            kind: Link = "propagated"
            if one is last:
                kind = link
            elif is_annotation(one):
                kind = "annotation"
            place = one.source_location()
            yield self._make(
                kind,
                one.metadata().op_name or one.name,
                write_short_source(place.file, place.line) if place else None,
                self.reader.write(spec),
                list_axes(spec),
            )

    def _make(
        self,
        link: Link,
        name: str,
        source: str | None,
        spec_text: str | None = None,
        spec: tuple[tuple[str, ...], ...] | None = None,
    ) -> ChainRow:
        return ChainRow(
            link=link,
            name=name,
            spec=spec,
            spec_text=spec_text,
            cause=None,
            sent_bytes_per_step=None,
            source=source,
            collective=self.row.collective,
        )
