"""A Dask cluster of two processes reads a directory, and loses one of them."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from dump_files import ROOT
from test_summarize import write_dumps

import hlotool
from hlotool.cli import run
from hlotool.dump.find import resolve_inputs
from hlotool.dump.workers import Failure, connect_cluster, map_inputs
from hlotool.program.fleet import Measured, Member, measure_member, name_rows

pytest.importorskip("distributed")

import dask
import distributed

# What distributed leaves open or does in an old way is its own affair.
pytestmark = [pytest.mark.hard, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processes with a thread each; a task that kills two is given up.

    A process that died is waited for: on a busy machine it takes longer than Dask's 15 seconds.
    """
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.deploy.lost-worker-timeout": "10 minutes",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as started,
    ):
        yield started


class Deadly:
    """Measures programs, and kills its process at one of them: the first time, or each."""

    def __init__(self, name: str, mark: Path, *, always: bool) -> None:
        self.name = name
        self.mark = mark
        self.always = always

    def __call__(self, member: Member) -> Measured:
        if self.name in member.chosen.path and (self.always or not self.mark.exists()):
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return measure_member(member)


def read_rows(text: str) -> list[Any]:
    """Return the rows of JSON or JSON Lines, sorted: they come as programs are read."""
    rows = (
        json.loads(text)["rows"] if text.startswith("{\n") else map(json.loads, text.splitlines())
    )
    return sorted(rows, key=str)


def tell_but_next(text: str) -> dict[str, object]:
    """Return a document without the commands to go on with, which have PATH as typed."""
    return {name: value for name, value in json.loads(text).items() if name != "next"}


def members_of(folder: Path) -> list[Member]:
    """Return the programs of a folder."""
    return [Member(one, str(folder)) for one in resolve_inputs(str(folder)).inputs]


def test_the_command_reads_with_it(
    cluster: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Workers have another working directory than the one a path is typed in."""
    write_dumps(tmp_path / "dump")
    (tmp_path / "dump/broken.txt").write_text("HloModule broken\n\nENTRY e {")
    command = ["summary", str(tmp_path / "dump"), "--json"]
    assert run(command) == 3
    expected = capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    cache = ["--cache", "rows"]
    address = cluster.scheduler_address
    assert run(["summary", "dump", "--json", "--dask", address, *cache]) == 3
    found = capsys.readouterr()
    assert found.err == expected.err
    assert tell_but_next(found.out) == tell_but_next(expected.out)
    assert len((tmp_path / "rows").read_text().splitlines()) == 5


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_rows_of_many_come_through_it(
    cluster: Any,
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The rows of a command, and what cannot be read, are those of one machine."""
    for name in ("gpu_h100/mlp_train", "cpu/pipeline"):
        copytree(ROOT / "testdata/dumps" / name, tmp_path / name)
    (tmp_path / "broken.txt").write_text("HloModule broken\n\nENTRY e {")
    monkeypatch.chdir(tmp_path)
    command = ["collectives", "gpu_h100", "c*/pipeline", "broken.txt", "--format", form]
    assert run(command) == 3
    expected = capsys.readouterr()
    assert run([*command, "--dask", cluster.scheduler_address]) == 3
    found = capsys.readouterr()
    assert read_rows(found.out) == read_rows(
        expected.out.replace('"broken.txt:', f'"{tmp_path}/broken.txt:')
    )
    assert sum(row["error"] is not None for row in read_rows(found.out)) == 1
    assert found.err == expected.err.replace(" broken.txt:", f" {tmp_path}/broken.txt:")


def test_answers_of_many_come_through_it(cluster: Any) -> None:
    """To Python: the records of one machine."""
    names = "dumps/cpu", "hlo/cpu_train_step.txt", "none"
    paths = [ROOT / "testdata" / name for name in names]
    with connect_cluster(cluster.scheduler_address, print) as executor:
        found = [*hlotool.ask_all(paths, hlotool.Dump.collectives, executor=executor)]
    alone = [*hlotool.ask_all(paths, hlotool.Dump.collectives)]
    assert sorted(map(repr, found)) == sorted(map(repr, alone))
    assert sum(bool(one.answer and one.answer.rows) for one in found) > 2


def test_a_killed_worker_is_survived(cluster: Any, tmp_path: Path) -> None:
    write_dumps(tmp_path / "dump", 20)
    deadly = Deadly("module_0007", tmp_path / "mark", always=False)
    with connect_cluster(cluster.scheduler_address, print) as executor:
        results = map_inputs(deadly, members_of(tmp_path / "dump"), executor=executor)
    assert (tmp_path / "mark").exists()
    rows = [result.row for result in results if isinstance(result, Measured)]
    assert name_rows(rows) == hlotool.summarize(tmp_path / "dump")


def test_what_kills_every_worker_is_a_failure(cluster: Any, tmp_path: Path) -> None:
    write_dumps(tmp_path / "dump", 6)
    deadly = Deadly("module_0003", tmp_path / "mark", always=True)
    members = members_of(tmp_path / "dump")
    killer = members[2]
    others = [one for one in members if one is not killer]  # beside it they might be given up too
    with connect_cluster(cluster.scheduler_address, print) as executor:
        (failure,) = map_inputs(deadly, [killer], executor=executor)
        results = map_inputs(deadly, others, executor=executor)
    assert isinstance(failure, Failure)
    assert failure.message.startswith("the executor gave this up: KilledWorker: ")
    assert [type(result) for result in results] == [Measured] * 5


@pytest.mark.parametrize(
    ("address", "answer"),
    [
        ("tcp://127.0.0.1:1", (3, "no scheduler answers there within 0.5 seconds.\n")),
        ("nowhere", (2, "missing port number in address 'nowhere'.\n")),
        ("odd://a:1", (2, "unknown address scheme 'odd'")),
    ],
)
def test_an_address_where_nobody_is(
    address: str,
    answer: tuple[int, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_dumps(tmp_path)
    monkeypatch.setattr("hlotool.dump.workers._DASK_TIMEOUT_SECONDS", 0.5)
    code, reason = answer
    assert run(["summary", str(tmp_path), "--dask", address]) == code
    assert capsys.readouterr().err.startswith(f"hlotool: --dask {address}: {reason}")
    made = (one.status for one in gc.get_objects() if type(one) is distributed.Client)
    assert {*made} <= {"closed"}  # one that did not start may keep the next from starting


def test_what_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_dumps(tmp_path)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert run(["summary", str(tmp_path), "--dask", "tcp://127.0.0.1:1"]) == 2
    assert "install hlotool[dask]" in capsys.readouterr().err
