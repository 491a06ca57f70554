"""Broken and hostile protos: a sentence with the file, in time that is linear in its size."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable
from typing import NoReturn

import pytest
from dump_files import TESTDATA
from linear import assert_linear

from hlotool.errors import InputError
from hlotool.proto.decode import decode_module
from hlotool.proto.kind import find_proto_head
from hlotool.proto.messages import INSTRUCTION_PARTS, HloModuleProto

DATA = [
    gzip.decompress(path.read_bytes())
    for path in sorted((TESTDATA / "protos").glob("*.hlo.pb.gz"))
    if path.stat().st_size < 3000
]
BROKEN = re.compile(r"x: the protobuf is broken at byte ([\d,]+) of ([\d,]+): .+")


def read(data: bytes) -> str | None:
    """Return the text of a proto, None if it is none any more."""
    head = find_proto_head(data)
    return None if head is None else decode_module(data, head, "x").print_module("x")


def find_refusal(data: bytes) -> str | None:
    """Return why a proto is refused, None if it is not."""
    try:
        read(data)
    except InputError as error:
        return str(error)
    return None


def injure(random_: random.Random, data: bytes) -> bytes:
    kind = random_.randrange(5)
    at = random_.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[at + random_.randrange(1, 9) :]
    if kind == 2:
        return data[:at] + random_.randbytes(random_.randrange(1, 9)) + data[at:]
    changed = bytearray(data)
    for place in random_.sample(range(len(data)), min(len(data), kind)):
        changed[place] = random_.randrange(256)
    return bytes(changed)


def check_injured(seed: int, count: int) -> None:
    random_ = random.Random(seed)  # noqa: S311
    for _ in range(count):
        data = injure(random_, random_.choice(DATA))
        said = find_refusal(data)
        assert said is None or said.startswith("x: ")
        if said and (found := BROKEN.match(said)):
            offset, size = (int(each.replace(",", "")) for each in found.groups())
            assert 0 <= offset <= size == len(data)


@pytest.mark.hard
@pytest.mark.parametrize("seed", range(10))
def test_injured_protos(seed: int, request: pytest.FixtureRequest) -> None:
    """A fifth as many as of texts."""
    check_injured(seed, request.config.getoption("--mutants") // 50)


def test_the_first_injured_protos() -> None:
    check_injured(0, 100)


@pytest.mark.parametrize("field", INSTRUCTION_PARTS)
def test_the_place_of_a_broken_part(field: str) -> None:
    """It is found when it is printed."""
    module = make_module()
    setattr(module.computations[0].instructions[0], field, b"\x0a\x7fbroken")
    data = module.SerializeToString()
    place = f"broken at byte {data.index(b'broken') - 2} of {len(data)}: "
    assert place in (find_refusal(data) or "").replace(",", "")


@pytest.mark.parametrize("data", DATA, ids=len)
def test_every_beginning_is_refused(data: bytes) -> None:
    """An HloProto says how long its module is."""
    whole = b"\x0a" + varint(len(data)) + data
    for end in range(200, len(whole) - 1, 53):
        with pytest.raises(InputError, match=BROKEN):
            read(whole[:end])


def make_module() -> HloModuleProto:
    module = HloModuleProto.FromString(DATA[0])
    assert module.computations
    return module


def call_itself(module: HloModuleProto) -> None:
    first = module.computations[0]
    first.instructions[-1].called_computation_ids.append(first.id)


def name_no_instruction(module: HloModuleProto) -> None:
    module.computations[0].instructions[-1].operand_ids.append(77_777)


def name_no_computation(module: HloModuleProto) -> None:
    module.computations[0].instructions[-1].called_computation_ids.append(77_777)


def have_no_root(module: HloModuleProto) -> None:
    module.computations[0].root_id = 77_777


def have_no_entry(module: HloModuleProto) -> None:
    module.entry_computation_id = 77_777


def have_one_id_twice(module: HloModuleProto) -> None:
    module.computations[0].instructions[1].id = module.computations[0].instructions[0].id


def have_a_name_of_two_lines(module: HloModuleProto) -> None:
    module.computations[0].instructions[0].name = "a\n}"


def have_no_opcode(module: HloModuleProto) -> None:
    module.computations[0].instructions[0].opcode = "a b("


def have_half_a_schedule(module: HloModuleProto) -> None:
    number = module.computations[0].id
    module.schedule.sequences[number].instruction_ids.append(77_777)


def use_a_long_name_often(module: HloModuleProto) -> None:
    computation = module.computations[0]
    first, last = computation.instructions[0], computation.instructions[-1]
    first.name = "a" * 1_000_000
    last.operand_ids.extend([first.id] * 1_000_000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (call_itself, "calls a computation by the id"),
        (name_no_instruction, "names an instruction by the id 77777; no earlier one has that id."),
        (name_no_computation, "calls a computation by the id 77777; no earlier one has that id."),
        (have_no_root, "has no root."),
        (have_no_entry, "has no computation of the id 77777, which it names as its entry"),
        (have_one_id_twice, "have the id"),
        (have_a_name_of_two_lines, "is not a name that HLO allows."),
        (have_no_opcode, "has an invalid opcode, 'a b('."),
        (have_half_a_schedule, "does not list its instructions"),
        (use_a_long_name_often, "would be many times the size of the file."),
    ],
)
def test_hostile_modules(change: Callable[[HloModuleProto], None], message: str) -> None:
    module = make_module()
    change(module)
    with pytest.raises(InputError, match=re.escape(message)):
        read(module.SerializeToString())


def varint(value: int) -> bytes:
    low = value & 127
    return bytes([low]) if value < 128 else bytes([low | 128]) + varint(value >> 7)


def test_a_length_of_many_bytes() -> None:
    """A field that says it is 2^63 bytes long costs nothing."""
    data = DATA[0] + b"\x1a" + varint((1 << 63) - 1)
    with pytest.raises(InputError, match="a field says it is 9,223,372,036,854,775,807 bytes long"):
        read(data)


def test_shapes_in_shapes() -> None:
    """Messages that stand in one another deeper than protobuf reads."""
    shape = b""
    for _ in range(1000):
        shape = b"\x22" + varint(len(shape)) + shape
    module = make_module()
    module.computations[0].instructions[0].shape = shape
    with pytest.raises(InputError, match="more than 100 deep"):
        read(module.SerializeToString())


def stuff(tags: bytes, count: int) -> bytes:
    """Return a module with many of a field that stands in others, outermost first."""
    inner = (tags[-1:] + b"\x00") * count
    for tag in reversed(tags[:-1]):
        inner = bytes([tag]) + varint(len(inner)) + inner
    return b"\x0a\x01m\x12\x01e" + inner


@pytest.mark.hard
@pytest.mark.parametrize(
    "tags",
    [
        b"\x1a",  # computations
        b"\x1a\x12",  # instructions
        b"\x1a\x12\x42\x52",  # values of a tuple
        b"\x72",  # shardings of parameters
    ],
    ids=len,
)
def test_many_empty_messages(tags: bytes) -> None:
    """They take hundreds of times the size of the file, and are no program."""
    data = stuff(tags, 50_000)
    with pytest.raises(InputError, match=r"^x: .+[.?]$"):
        read(data)
    with pytest.raises(InputError, match=BROKEN):
        read(data[:-999])


def test_what_does_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_message: str, _data: bytes, _size_bytes: int) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr("hlotool.proto.decode._take", refuse)
    with pytest.raises(InputError, match=r"^x: the module does not fit into memory\.$"):
        read(DATA[0])


@pytest.mark.hard
def test_time_is_linear() -> None:
    """Twice the instructions, all in one chain, take about twice as long."""
    size, texts = 10_000, {}
    for count in (size, 2 * size):
        module = make_module()
        computation = module.computations[0]
        last = computation.instructions[-1]
        for number in range(count):
            new = computation.instructions.add()
            new.CopyFrom(last)
            new.id = (1 << 20) + number
            new.name = f"more.{number}"
            new.ClearField("operand_ids")
            new.operand_ids.append((1 << 20) + number - 1 if number else last.id)
        module.ClearField("schedule")
        texts[count] = module.SerializeToString()

    def ask(count: int) -> None:
        assert read(texts[count]) is not None

    assert_linear(ask, size)
