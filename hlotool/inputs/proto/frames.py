"""Which stack frames does a module name, and which numbers do they get when XLA prints it?

XLA takes up the frames that instructions name as it reads them: the tables of the text hold
those alone, each once, in the order of the instructions, callers before what they call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from hlotool.inputs.proto.messages import StackFrameIndexProto
from hlotool.inputs.proto.nodes import Block
from hlotool.inputs.proto.values.escape import escape_text

_Key = TypeVar("_Key")
Location = tuple[int, int, int, int, int, int]  # file, function, line, end, column, end


class FrameTables:
    """The four tables of stack frames as they are printed; numbers begin at 1."""

    def __init__(self, index: StackFrameIndexProto, blocks: list[Block]) -> None:
        self._files: dict[str, int] = {}
        self._functions: dict[str, int] = {}
        self._locations: dict[Location, int] = {}
        self._frames: dict[tuple[int, int], int] = {}
        self._names = (list(index.file_names), list(index.function_names))
        self._places = list(index.file_locations)
        self._old = [(each.file_location_id, each.parent_frame_id) for each in index.stack_frames]
        self.numbers: dict[int, int] = {0: 0}  # the new number of each old one
        if self._old:
            for block in blocks:
                for node in block.nodes:
                    if node.proto.HasField("metadata"):
                        self._take(node.proto.metadata.stack_frame_id)

    def _take(self, number: int) -> None:
        """Take up a frame, and first the frames that called it."""
        chain: list[int] = []
        while number not in self.numbers and 1 <= number <= len(self._old):
            self.numbers[number] = 0  # until all callers have theirs; ends a circle, too
            chain.append(number)
            number = self._old[number - 1][1]
        parent = self.numbers.get(number, 0)
        for each in reversed(chain):
            location = self._take_location(self._old[each - 1][0])
            parent = self.numbers[each] = _number(self._frames, (location, parent))

    def _take_location(self, number: int) -> int:
        """Take up a place in a file, and the names in it; return its new number."""
        if not 1 <= number <= len(self._places):
            return 0
        place = self._places[number - 1]
        files, functions = self._names
        return _number(
            self._locations,
            (
                _take_name(self._files, files, place.file_name_id),
                _take_name(self._functions, functions, place.function_name_id),
                *(place.line, place.end_line, place.column, place.end_column),
            ),
        )

    def lines(self) -> Iterator[str]:
        """Yield the text of the tables, nothing where no instruction names a frame.

        XLA writes the number of a caller one higher than it is.
        """
        if not self._frames:
            return
        yield "\n\nFileNames\n"
        yield from (f'{number} "{escape_text(name)}"\n' for name, number in self._files.items())
        yield "\nFunctionNames\n"
        yield from (f'{number} "{escape_text(name)}"\n' for name, number in self._functions.items())
        yield "\nFileLocations\n"
        for (file, function, *place), number in self._locations.items():
            yield (
                f"{number} {{file_name_id={file} function_name_id={function} line={place[0]} "
                f"end_line={place[1]} column={place[2]} end_column={place[3]}}}\n"
            )
        yield "\nStackFrames\n"
        for (location, parent), number in self._frames.items():
            yield f"{number} {{file_location_id={location} parent_frame_id={parent + 1}}}\n"


def _take_name(taken: dict[str, int], names: list[str], number: int) -> int:
    """Return the new number of a name, 0 for one that is not there."""
    return _number(taken, names[number - 1]) if 1 <= number <= len(names) else 0


def _number(taken: dict[_Key, int], key: _Key) -> int:
    """Return the number of a key, the next one for a new key."""
    return taken.setdefault(key, len(taken) + 1)
