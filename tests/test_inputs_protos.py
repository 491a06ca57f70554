"""Protos as inputs: which message a file is, what stands beside it, and on how many devices."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
from dump_files import TESTDATA

from hlotool.cli import run
from hlotool.dump.find import resolve_inputs
from hlotool.dump.read import read_source
from hlotool.errors import InputError
from hlotool.hlo.parser import parse_module
from hlotool.proto.kind import choose_message, find_proto_head
from hlotool.proto.messages import HloInstructionProto, HloModuleProto
from hlotool.proto.module import prove_counts
from hlotool.text import DeviceCounts

PROTOS = TESTDATA / "protos"
DATA = gzip.decompress((PROTOS / "train_step.hlo.pb.gz").read_bytes())
TEXT = (PROTOS / "train_step.txt").read_text(encoding="utf-8")
STEM = "module_0003.jit_train_step.cpu_after_optimizations"


def varint(value: int) -> bytes:
    low = value & 127
    return bytes([low]) if value < 128 else bytes([low | 128]) + varint(value >> 7)


def wrap(data: bytes, field: int = 1) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


CONFIG = b"\x20\x02\x28\x04"  # replica_count: 2, num_partitions: 4
MESSAGES = {
    "HloModuleProto": DATA,
    "HloProto": wrap(DATA) + wrap(b"\x0a\x00", 3),
    "HloModuleProtoWithConfig": wrap(DATA) + wrap(CONFIG, 2),
    "HloSnapshot": wrap(wrap(DATA)) + wrap(b"\x0a\x02\x10\x0b", 2),
    "HloUnoptimizedSnapshot": wrap(DATA) + wrap(b"\x0a\x02\x10\x0b", 2),
}


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("is_compressed", [False, True])
def test_every_message_is_read(message: str, is_compressed: bool, tmp_path: Path) -> None:
    data = MESSAGES[message]
    head = find_proto_head(data)
    assert head is not None
    assert choose_message(data, head) == message
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(data) if is_compressed else data)
    source = read_source(str(path))
    counts = ", replica_count=2, num_partitions=4" * (message == "HloModuleProtoWithConfig")
    header, _, rest = TEXT.partition("\n")
    found, _, found_rest = source.text.partition("\n")
    assert found.replace(counts, "") == header
    assert counts in found
    assert found_rest == rest


def test_a_snapshot_with_its_length_in_front(tmp_path: Path) -> None:
    inner = wrap(DATA) + b"\x18\x01"
    path = tmp_path / "a.hlo_unoptimized_snapshot.pb"
    path.write_bytes(varint(len(inner)) + inner + b"\x00" * 64)
    assert read_source(str(path)).text == TEXT


@pytest.mark.parametrize("text", [b"", b"\n", b"\n\nHloModule m\n", b"HloModule m\n", b"\n\x05ab"])
def test_texts_are_no_protos(text: bytes) -> None:
    assert find_proto_head(text) is None


def test_companions_of_a_proto(tmp_path: Path) -> None:
    (tmp_path / f"{STEM}.hlo.pb").write_bytes(DATA)
    (tmp_path / f"{STEM}-buffer-assignment.txt").write_text("BufferAssignment:\n")
    (found,) = resolve_inputs(str(tmp_path / f"{STEM}.hlo.pb")).inputs
    assert found.buffers is not None
    assert found.name == "jit_train_step"
    (beside,) = resolve_inputs(str(tmp_path / f"{STEM}-buffer-assignment.txt")).inputs
    assert beside.module is not None
    assert beside.module.read().text == TEXT


def test_a_directory_of_protos(tmp_path: Path) -> None:
    (tmp_path / f"{STEM}.hlo.pb").write_bytes(DATA)
    (found,) = resolve_inputs(str(tmp_path)).inputs
    assert found.module is not None
    assert found.module.read().text == TEXT


def test_a_text_wins_over_its_proto(tmp_path: Path) -> None:
    (tmp_path / f"{STEM}.hlo.pb").write_bytes(b"nonsense")
    (tmp_path / f"{STEM}.txt").write_text(TEXT)
    (found,) = resolve_inputs(str(tmp_path)).inputs
    assert found.module is not None
    assert found.module.path.endswith(".txt")


def test_a_broken_proto_does_not_break_a_directory(tmp_path: Path) -> None:
    (tmp_path / f"{STEM}.hlo.pb").write_bytes(DATA[:-9])
    (tmp_path / "module_0004.jit_g.after_optimizations.txt").write_text("HloModule jit_g\n")
    assert len(resolve_inputs(str(tmp_path)).inputs) == 2
    with pytest.raises(InputError, match="the protobuf is broken at byte"):
        resolve_inputs(str(tmp_path / f"{STEM}.hlo.pb"))


def make_module(*instructions: dict[str, object]) -> HloModuleProto:
    """Return a module with the instructions that are given by their fields."""
    module = HloModuleProto()
    computation = module.computations.add()
    for fields in instructions:
        computation.instructions.append(HloInstructionProto(**fields))
    return module


TILES = {"sharding": {"type": 3, "tile_assignment_dimensions": [4, 2]}}
PAIRS = {"replica_groups": [{"replica_ids": [0, 1]}, {"replica_ids": [2, 3]}]}


@pytest.mark.parametrize(
    ("instructions", "replicas", "partitions"),
    [
        ([], None, None),
        ([{"opcode": "parameter", **TILES}], None, 8),
        ([{"opcode": "all-reduce", **PAIRS}], 4, None),
        ([{"opcode": "all-reduce", "channel_id": 1, **PAIRS}], 4, None),
        ([{"opcode": "all-to-all", "channel_id": 1, **PAIRS}], None, 4),
        (
            [
                {
                    "opcode": "all-gather-start",
                    "channel_id": 1,
                    "use_global_device_ids": True,
                    **PAIRS,
                }
            ],
            None,
            None,
        ),
        (
            [
                {"opcode": "all-gather", "channel_id": 1, "use_global_device_ids": True, **PAIRS},
                {"opcode": "all-to-all", "channel_id": 1, **PAIRS},
            ],
            1,
            4,
        ),
        ([{"opcode": "all-to-all", "channel_id": 1, **PAIRS}, TILES], None, None),
        ([{"opcode": "all-reduce"}], None, None),
    ],
)
def test_counts_are_proven_or_unknown(
    instructions: list[dict[str, object]], replicas: int | None, partitions: int | None
) -> None:
    module = make_module(*instructions)
    assert prove_counts(module, None) == DeviceCounts(replicas, partitions)


def test_unknown_counts_are_not_one(tmp_path: Path) -> None:
    path = tmp_path / f"{STEM}.hlo.pb"
    path.write_bytes(DATA)
    (found,) = resolve_inputs(str(path)).inputs
    assert found.module is not None
    header = parse_module(found.module.read()).header
    assert (header.replica_count, header.num_partitions, header.device_count) == (None, None, None)


def test_counts_of_the_text_beside(tmp_path: Path) -> None:
    path = tmp_path / f"{STEM}.hlo.pb"
    path.write_bytes(DATA)
    before = tmp_path / "module_0003.jit_train_step.before_optimizations.txt"
    before.write_text(TEXT.replace(", is_scheduled=true", ", num_partitions=4", 1))
    for place in (path, tmp_path):
        (found,) = resolve_inputs(str(place)).inputs
        assert found.module is not None
        assert found.module.raw_path == str(path)
        header = parse_module(found.module.read()).header
        assert (header.replica_count, header.num_partitions) == (1, 4)
    before.write_text(before.read_text().replace("jit_train_step", "jit_other", 1))
    for place in (path, tmp_path):
        (found,) = resolve_inputs(str(place)).inputs
        assert found.module is not None
        assert parse_module(found.module.read()).header.num_partitions is None
    shutil.rmtree(tmp_path)


def test_protos_of_sparse_cores_are_read(tmp_path: Path) -> None:
    """A thread of any name: a build of XLA without that compiler may refuse such a proto."""
    data = gzip.decompress((PROTOS / "async_operations.hlo.pb.gz").read_bytes())
    proto = HloModuleProto.FromString(data)
    starts = [
        each
        for computation in proto.computations
        for each in computation.instructions
        if each.opcode == "async-start"
    ]
    ids = {number for each in starts for number in each.called_computation_ids}
    called = [each for each in proto.computations if each.id in ids]
    assert called
    for start in starts:
        start.async_execution_thread = "sparsecore"
    for computation in called:
        computation.execution_thread = "sparsecore"
    path = tmp_path / "a.hlo.pb"
    path.write_bytes(proto.SerializeToString())
    source = read_source(str(path))
    threads = {each.execution_thread for each in parse_module(source).computations.values()}
    assert "sparsecore" in threads
    assert source.text.count('"sparsecore"') >= len(starts)
    assert run(["summary", str(path), "--json"]) == 0
