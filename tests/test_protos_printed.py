"""An HLO proto is printed byte for byte as XLA prints it.

The protos and texts in testdata/protos are XLA's own, whose `to_string` writes asynchronous
operations with sugar. Where jaxlib is installed, a proto is made of every text here that XLA reads,
and of each once more without its schedule.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dump_files import TESTDATA, find_table_cases

from hlotool.proto.decode import decode_module
from hlotool.proto.kind import find_proto_head
from hlotool.proto.messages import HloModuleProto

FOLDER = TESTDATA / "protos"
PROTOS = sorted(FOLDER.glob("*.hlo.pb.gz"))
# Of each text a line: 8 digits with its length, the proto, 8 digits, what XLA prints. In processes
# of their own: some texts abort XLA.
CHILD = r"""
import os, sys
from pathlib import Path
from jaxlib import _hlo
from dump_files import read_text
folder = Path(sys.argv[1])
for number, path in enumerate(sys.stdin.read().splitlines()):
    if os.fork() == 0:
        try:
            text = read_text(Path(path))
            proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
            printed = _hlo.HloModule.from_serialized_hlo_module_proto(proto).to_string()
            (folder / f"{number}.txt").write_text(printed, encoding="utf-8")
            (folder / f"{number}.pb").write_bytes(proto)
        except BaseException:
            pass
        os._exit(0)
    os.wait()
"""


def print_proto(data: bytes) -> str:
    head = find_proto_head(data)
    assert head is not None
    return decode_module(data, head, "x").print_module("x", has_sugar=True)


def test_there_are_protos() -> None:
    assert len(PROTOS) >= 12
    assert sum(path.stat().st_size for path in PROTOS) < 150_000


@pytest.mark.parametrize("path", PROTOS, ids=lambda path: path.name)
def test_printed_as_xla_prints(path: Path) -> None:
    expected = path.with_name(path.name.replace(".hlo.pb.gz", ".txt")).read_text(encoding="utf-8")
    assert print_proto(gzip.decompress(path.read_bytes())) == expected


@pytest.mark.parametrize("path", PROTOS, ids=lambda path: path.name)
def test_the_head_is_the_first_line(path: Path) -> None:
    data = gzip.decompress(path.read_bytes())
    head = find_proto_head(data)
    assert head is not None
    decoded = decode_module(data, head, "x")
    line = decoded.print_head()
    # What is proved, or said to be unknown, stands in the head alone.
    said = re.sub(r", (?:replica_count|num_partitions)=(?:\?|\d+)", "", line)
    printed = decoded.print_module("x").partition("\n")[0]
    assert re.sub(r", (?:replica_count|num_partitions)=\d+", "", printed).startswith(said)
    assert line.startswith(f"HloModule {head.module_name}")


def find_texts() -> list[Path]:
    """Return all texts of testdata that may hold a module."""
    found = {*TESTDATA.rglob("*.txt"), *TESTDATA.rglob("*.txt.gz")}
    found |= {case.path for case in find_table_cases(TESTDATA)}
    return sorted(path for path in found if path.parent != FOLDER)


@pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib is the oracle")
def test_every_text_that_xla_reads(tmp_path: Path) -> None:
    names = "\n".join(map(str, find_texts()))
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    subprocess.run(
        command, input=names, text=True, check=True, cwd=Path(__file__).parent, capture_output=True
    )
    protos = sorted(tmp_path.glob("*.pb"))
    assert len(protos) > 300
    different = [
        path.name
        for path in protos
        if print_proto(path.read_bytes()) != path.with_suffix(".txt").read_text(encoding="utf-8")
    ]
    assert different == []


def test_the_messages_are_those_of_the_proto_file() -> None:
    pytest.importorskip("grpc_tools")
    sys.path.insert(0, str(FOLDER))
    try:
        make_messages = importlib.import_module("make_messages")
    finally:
        sys.path.remove(str(FOLDER))
    data = make_messages.compile_descriptor()
    assert (make_messages.FOLDER / "hlo.binpb").read_bytes() == data
    stub = (make_messages.FOLDER / "messages.pyi").read_text(encoding="utf-8")
    assert stub == make_messages.make_stub(data)


def test_counts_of_the_devices_are_in_the_header() -> None:
    """A difference: XLA's print of such a proto leaves them out; its dump has them."""
    data = gzip.decompress((FOLDER / "train_step.hlo.pb.gz").read_bytes())
    module = HloModuleProto.FromString(data)
    module.device_assignment.replica_count = 2
    module.device_assignment.computation_count = 4
    line = print_proto(module.SerializeToString()).partition("\n")[0]
    assert ", replica_count=2, num_partitions=4" in line
