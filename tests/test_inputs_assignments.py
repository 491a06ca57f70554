"""Buffer assignments in protos: the same figures as from XLA's own text, and live JAX objects."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from dump_files import TESTDATA

import hlotool
from hlotool.dump.find import resolve_inputs
from hlotool.errors import HlotoolError, UsageError
from hlotool.proto.messages import BufferAssignmentProto, HloProto

LOOPS = sorted((TESTDATA / "protos/assignments").glob("*.hlo.pb.gz"))
FOLDERS = [
    path.with_name(path.name.replace("-buffer-assignment.txt", ".hlo.pb"))
    for path in sorted((TESTDATA / "folders").glob("*/*-buffer-assignment.txt"))
]
PROTOS = [path for path in LOOPS + FOLDERS if path.exists()]
TEXT = "-buffer-assignment.txt"
# What no proto says: the sum of all allocations, and XLA's own live ranges and peak.
UNSAID = {
    *("live_ranges_from", "xla_position", "xla_bytes", "bytes_at_xla_position"),
    *("reported_total_bytes", "reported_total_matches"),
}
BESIDE = {"flags", "flags_path"}  # in a file of its own, which was not copied
# Uses of a value are counted in the module, where some meet others; frames are numbered anew.
COUNTED = {"use_count", "stack_frame"}
# The proto stands alone here, and the flags are in a file beside the text.
BESIDE = {"flags", "flags_path"}
# What a chip gives, which a file beside names.
BESIDE |= {"machine", "roofline", "step_time", "fit", "reference_chip"}
BESIDE |= {"exposed_seconds", "transfer_seconds", "overlapped_seconds"}


def differences(one: object, other: object, name: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys()
        for key in one:
            yield from differences(one[key], other[key], key)
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            yield from differences(left, right, name)
    elif one != other:
        yield name


def copy_alone(path: Path, folder: Path) -> Path:
    """Copy a proto, and nothing that lies beside it."""
    folder.mkdir(exist_ok=True)
    return Path(shutil.copy(path, folder))


@pytest.mark.parametrize("path", PROTOS, ids=lambda path: f"{path.parent.name}/{path.name[:30]}")
def test_the_figures_are_those_of_the_text(path: Path, tmp_path: Path) -> None:
    alone = copy_alone(path, tmp_path / "alone")
    text, proto = hlotool.load(path), hlotool.load(alone)
    assert text.paths.buffers_path != str(path)
    assert proto.paths.buffers_path == str(alone)
    one, other = (msgspec.to_builtins(dump.buffers()) for dump in (text, proto))
    assert other["memory"]["sizes_from"] == "buffer-assignment"
    assert other["memory"]["totals"]["reported_total_bytes"] is None
    assert set(differences(one["memory"], other["memory"])) <= UNSAID
    assert set(differences(one["rows"], other["rows"])) <= COUNTED
    summaries = [msgspec.to_builtins(dump.summary()) for dump in (text, proto)]
    assert set(differences(*summaries)) <= UNSAID | BESIDE


def test_there_are_protos_of_all_backends() -> None:
    assert [path.name[:3] for path in LOOPS] == ["cpu", "gpu", "tpu"]
    assert len(PROTOS) > 6


@pytest.mark.parametrize("path", PROTOS, ids=lambda path: f"{path.parent.name}/{path.name[:30]}")
def test_the_text_is_that_of_xla(path: Path, tmp_path: Path) -> None:
    """But for phis, the shape of an output, and TPU's pages, which no proto has."""
    buffers = resolve_inputs(str(copy_alone(path, tmp_path / "alone"))).inputs[0].buffers
    assert buffers is not None
    ending = ".hlo.pb.gz" if path.suffix == ".gz" else ".hlo.pb"
    beside = path.with_name(path.name.removesuffix(ending) + TEXT + path.suffix.replace(".pb", ""))
    data = beside.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    text = re.sub(r" \(phi\)|, output shape is \|[^|]*\||, page \d+", "", text)
    assert buffers.read().text.rstrip("\n") == text.rstrip("\n")


def test_a_directory_of_protos_has_assignments(tmp_path: Path) -> None:
    source = TESTDATA / "folders/cpu.several"
    for path in source.glob("*.hlo.pb"):
        shutil.copy(path, tmp_path)
    texts, protos = hlotool.load_all(source), hlotool.load_all(tmp_path)
    assert [dump.module.name for dump in texts] == [dump.module.name for dump in protos]
    for text, proto in zip(texts, protos, strict=True):
        assert proto.assignment is not None
        assert text.buffers().memory.totals.peak_bytes == proto.buffers().memory.totals.peak_bytes


@pytest.mark.parametrize("is_directory", [False, True])
def test_a_text_takes_the_assignment_of_its_proto(is_directory: bool, tmp_path: Path) -> None:
    source = TESTDATA / "folders/tpu_v5e.plain"
    for path in source.glob("*after_optimizations*"):
        if path.name.endswith((".hlo.pb", "optimizations.txt", "_buffer_assignment.txt")):
            shutil.copy(path, tmp_path)
    text = next(tmp_path.glob("*after_optimizations_after_buffer_assignment.txt"))
    dump = hlotool.load(tmp_path if is_directory else text)
    assert str(dump.paths.module_path).endswith(".txt")
    assert str(dump.paths.buffers_path).endswith(".after_optimizations.hlo.pb")
    assert dump.buffers().memory.sizes_from == "buffer-assignment"


def test_a_proto_named_by_hand(tmp_path: Path) -> None:
    source = next((TESTDATA / "folders/cpu.several").glob("*jit_train_step*optimizations.hlo.pb"))
    proto = copy_alone(source, tmp_path / "protos")
    text = copy_alone(source.with_name(source.name.replace(".hlo.pb", ".txt")), tmp_path / "texts")
    assert hlotool.load(text).assignment is None
    assert hlotool.load(text, buffers=str(proto)).assignment is not None


def spoil_place(assignment: BufferAssignmentProto, edit: str) -> None:
    """Change where each value is made."""
    for buffer in assignment.logical_buffers:
        if edit == "definer":
            buffer.defined_at.instruction_id = -5
        elif edit == "name":
            buffer.defined_at.instruction_name = "nobody"
        elif edit == "index":
            buffer.defined_at.shape_index.append(-1)


def change(path: Path, folder: Path, edit: str) -> Path:
    """Write a proto of which one id, index or size is changed."""
    proto = HloProto.FromString(gzip.decompress(path.read_bytes()))
    assignment = proto.buffer_assignment
    first = assignment.buffer_allocations[0]
    spoil_place(assignment, edit)
    if edit == "value":
        first.assigned[0].logical_buffer_id = 1 << 60
    elif edit == "size":
        first.size = -1
    elif edit == "offset":
        first.assigned[0].offset = 1 << 40
    elif edit == "number":
        first.index = 7
    elif edit == "last":
        for buffer in assignment.buffer_allocations:
            if not (buffer.is_thread_local or buffer.is_constant):
                buffer.ClearField("assigned")
    target = folder / "a.hlo.pb"
    target.write_bytes(proto.SerializeToString())
    return target


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ("value", "has value 1152921504606846976, which does not exist"),
        ("definer", "is made by instruction -5, which the module does not have"),
        ("name", "is made by instruction 'nobody', which the module does not have"),
        ("index", "which has no such part"),
        ("size", "a size in allocation 0 is below zero"),
        ("offset", "the value reaches to byte"),
        ("number", "expected allocation 0, found allocation 7"),
        ("last", "no allocation holds"),
    ],
)
def test_bad_assignments_are_refused(edit: str, words: str, tmp_path: Path) -> None:
    path = change(LOOPS[1], tmp_path, edit)
    with pytest.raises(HlotoolError) as error:
        hlotool.load(path).buffers()
    assert words in str(error.value)
    assert str(path) in str(error.value)


class Executable:
    """What JAX has of a compiled function, as far as hlotool looks at it."""

    def __init__(self, proto: HloProto, assignment: bytes) -> None:
        self.proto = proto
        self.assignment = assignment

    def as_text(self) -> str:
        return (TESTDATA / "protos/train_step.txt").read_text(encoding="utf-8")

    def memory_analysis(self) -> object:
        return SimpleNamespace(serialized_buffer_assignment_proto=self.assignment)

    def runtime_executable(self) -> object:
        data = self.proto.hlo_module.SerializeToString()
        module = SimpleNamespace(as_serialized_hlo_module_proto=lambda: data)
        return SimpleNamespace(hlo_modules=lambda: [module])


class Lowered:
    def as_text(self) -> str:
        return "module @jit_f {\n}\n"

    def compile(self) -> None:
        pytest.fail("nothing is compiled")

    def compiler_ir(self) -> None:
        pytest.fail("nothing is asked")


def test_a_lowered_function_is_refused_with_what_to_call() -> None:
    with pytest.raises(UsageError, match=r"call \.compile\(\)"):
        hlotool.load(Lowered())


def test_a_runtime_without_an_assignment_gives_an_estimate() -> None:
    for data in (b"", BufferAssignmentProto().SerializeToString()):
        dump = hlotool.load(Executable(HloProto(), data))
        assert dump.assignment is None
        assert dump.buffers().memory.sizes_from == "estimate"


def test_a_compiled_function_brings_its_assignment() -> None:
    jax = pytest.importorskip("jax")
    function = jax.jit(lambda x: jax.numpy.sort(x @ x).sum())
    compiled = function.lower(jax.ShapeDtypeStruct((64, 64), "float32")).compile()
    dump = hlotool.load(compiled)
    memory, own = dump.buffers().memory, compiled.memory_analysis()
    assert memory.sizes_from == "buffer-assignment"
    assert memory.totals.temp_bytes == own.temp_size_in_bytes
    assert memory.totals.argument_bytes == own.argument_size_in_bytes
    assert memory.totals.output_bytes == own.output_size_in_bytes


def test_a_jitted_function_is_refused_with_what_to_call() -> None:
    class Jitted:
        def lower(self) -> None:
            """Stand for what traces."""

    with pytest.raises(UsageError, match=r"is jitted but .* Call \.lower\(…\)\.compile\(\)"):
        hlotool.load(Jitted())  # type: ignore[arg-type]
