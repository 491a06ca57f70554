"""How is one function applied to many inputs at once, and what becomes of one that fails?

The work of a large dump directory is parsing, which holds Python's lock; so processes, not
threads. Only inputs and results are sent between them, never a text or a module.

How do processes of our own start, what do they do, and how do they end?

Each has a pipe to this process, and needs neither semaphores nor threads in it: where one
process may be started, one works. Kept apart because importing the machinery costs more than
reading a small dump.

How is work given to an executor of the caller's, and what if that cannot do it?

Any `concurrent.futures.Executor` will do: a pool of this machine, Dask's, MPI's.

How does a Dask cluster read dumps?

Its workers need the same hlotool, and have to see the files under the same paths.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import closing, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from hlotool.dump.find_store import may_share
from hlotool.errors import HlotoolError, InputError, UsageError

if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext

# Below this, starting processes costs more than it saves (see docs/inputs.md).
MIN_PARALLEL_BYTES: Final = 1 << 20
# Small inputs are sent together, but not all of them; what is lost with a process stays little.
_CHUNKS_PER_WORKER: Final = 8
_MOST_TOGETHER_BYTES: Final = 4 << 20


class Sized(Protocol):
    """Something with a size: what decides the order and the grouping of the work."""

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""


class Failure(Struct, frozen=True):
    """What stands in the place of a result when an input could not be read.

    Only its message goes from process to process: an error holds the whole text.
    """

    message: str
    exit_code: int


_DIED: Final = Failure("the process that read this died, perhaps for lack of memory.", 3)

Item = TypeVar("Item", bound=Sized)
Result = TypeVar("Result")
Task: TypeAlias = Sequence[tuple[int, Item]]  # numbered items, sent to a worker at once
Found: TypeAlias = dict[int, Result | Failure]  # results by the numbers of their items
Report: TypeAlias = Callable[[Item, Result | Failure], None]  # hears of each as it comes


def map_inputs(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    executor: Executor | None = None,
    progress: Callable[[int], None] | None = None,
    keep: Report[Item, Result] | None = None,
) -> list[Result | Failure]:
    """Return `function(item)` for every item, in order, or a Failure where it raised.

    A HlotoolError becomes a Failure; any other exception is a bug and is raised. The largest
    items start first. `progress` is called in this process with the bytes just finished, `keep`
    with each item and its result, as it comes.

    The executor may be any; where its workers are processes, `function`, items and results
    must be picklable. What it does not finish, as a worker died or cannot read it, are Failures.
    Without an executor the work is done in processes of its own, one for each processor this
    process may use; few or small items are done here, and all where no process can be started, or
    where files come from an address or a pipe.
    """

    def report(item: Item, result: Result | Failure) -> None:
        if keep is not None:
            keep(item, result)
        if progress is not None:
            progress(item.size_bytes)

    if executor is not None:
        return _in_order(work_in_executor(executor, function, items, report), len(items))
    processes = min(available_processors(), len(items))
    if (
        processes > 1
        and may_share()
        and sum(item.size_bytes for item in items) >= MIN_PARALLEL_BYTES
    ):
        return map_in_processes(function, items, processes, report)
    return _in_order(_do_here(function, list(enumerate(items)), report), len(items))


def map_in_processes(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    processes: int,
    report: Report[Item, Result],
) -> list[Result | Failure]:
    """Do as `map_inputs` in so many processes of its own, or in as many as can be started.

    What one was at when it died is done again, each item in a process of its own, which may
    die without harm to others. What no process can be started for is done in this one.
    """
    found: Found[Result] = {}
    tasks = deque(_make_tasks(items, processes))
    lost = _do_in_processes(function, tasks, processes, report, found)
    alone: deque[Task[Item]] = deque([each] for each in lost)
    for number, _ in _do_in_processes(function, alone, 1, report, found):
        found[number] = _DIED
    for task in (*tasks, *alone):
        found |= _do_here(function, task, report)
    return _in_order(found, len(items))


def _do_in_processes(
    function: Callable[[Item], Result],
    tasks: deque[Task[Item]],
    processes: int,
    report: Report[Item, Result],
    found: Found[Result],
) -> list[tuple[int, Item]]:
    """Add results to those found; return what was lost with a process that died."""
    lost: list[tuple[int, Item]] = []
    with closing(work_in_processes(partial(_attempt_each, function), tasks, processes)) as work:
        for task, results in work:
            if results is None:
                lost += task
                continue
            found |= results
            for number, item in task:
                report(item, results[number])
    return lost


def _do_here(
    function: Callable[[Item], Result],
    task: Task[Item],
    report: Report[Item, Result],
) -> Found[Result]:
    """Apply the function to items in this process; return results by number."""
    found: Found[Result] = {}
    for number, item in task:
        found[number] = attempt(function, item)
        report(item, found[number])
    return found


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_chunks(items: Sequence[Sized], workers: int) -> list[list[int]]:
    """Group the numbers of the items, largest first, small ones together.

    A chunk is closed once it holds a fair share of the work, or much, so that a large item is
    alone.
    """
    sizes = [item.size_bytes for item in items]
    share = min(sum(sizes) / (workers * _CHUNKS_PER_WORKER), _MOST_TOGETHER_BYTES)
    chunks: list[list[int]] = []
    room = 0.0
    for number in sorted(range(len(sizes)), key=lambda each: -sizes[each]):
        if room <= 0:
            chunks.append([])
            room = share
        chunks[-1].append(number)
        room -= sizes[number]
    return chunks


def _make_tasks(items: Sequence[Item], workers: int) -> list[Task[Item]]:
    """Return what is sent to a worker at once: numbered items."""
    chunks = make_chunks(items, workers)
    return [[(number, items[number]) for number in chunk] for chunk in chunks]


def _attempt_each(function: Callable[[Item], Result], task: Task[Item]) -> Found[Result]:
    """Apply the function to the items of a task; runs in a worker."""
    return {number: attempt(function, item) for number, item in task}


def attempt(function: Callable[[Item], Result], item: Item) -> Result | Failure:
    """Apply the function to one item; a HlotoolError becomes a Failure."""
    try:
        return function(item)
    except HlotoolError as error:
        return Failure(str(error), error.exit_code)


def _in_order(found: Found[Result], count: int) -> list[Result | Failure]:
    """Put results in the order of their items; a missing one's worker died."""
    return [found.get(number, _DIED) for number in range(count)]


def _ignore(_finished_bytes: int) -> None:
    """Report progress to nobody."""


if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext

    Context: TypeAlias = ForkContext | SpawnContext

_CAN_HOLD: Final = hasattr(signal, "pthread_sigmask")  # not on Windows

_ProcessTask = TypeVar("_ProcessTask")
Answer = TypeVar("Answer")


def work_in_processes(
    work: Callable[[_ProcessTask], Answer], tasks: deque[_ProcessTask], processes: int
) -> Generator[tuple[_ProcessTask, Answer | None]]:
    """Take tasks, and yield each when it is done with its answer, None where its process died.

    A process that died is replaced. Where none can be started, tasks are left. What `work`
    raises is raised here. However this ends, no process stays.
    """
    team = _Team(work)
    try:
        while len(team.workers) < min(processes, len(tasks)) and team.add():
            pass
        while team.workers:
            for worker in team.await_some():
                done = worker.task
                answer = worker.hear()
                if worker.is_alive and tasks:
                    worker.give(tasks.popleft())
                else:
                    team.dismiss(worker)
                if not worker.is_alive and done and tasks:
                    team.add()
                if done:
                    yield done[0], answer
    finally:
        for worker in list(team.workers.values()):
            team.dismiss(worker)


class _Team(Generic[_ProcessTask, Answer]):
    """The processes there are, by the pipe to each."""

    def __init__(self, work: Callable[[_ProcessTask], Answer]) -> None:
        self.workers: dict[Connection, _Worker[_ProcessTask, Answer]] = {}
        self._work = work
        self._context = choose_context()

    def add(self) -> bool:
        """Start one more; False where that may not or cannot be."""
        if multiprocessing.current_process().daemon:  # a process of somebody's pool
            return False
        with suppress(OSError), _interrupt_held():
            worker = _Worker(self._work, self._context)
            self.workers[worker.pipe] = worker
            return True
        return False

    def await_some(self) -> list[_Worker[_ProcessTask, Answer]]:
        """Wait until some have done their task or have died, and return these."""
        heard = wait(list(self.workers))
        return [worker for pipe, worker in self.workers.items() if pipe in heard]

    def dismiss(self, worker: _Worker[_ProcessTask, Answer]) -> None:
        """End one, whatever it is at."""
        del self.workers[worker.pipe]
        worker.end()


class _Worker(Generic[_ProcessTask, Answer]):
    """A process that does one task after another, and says so when it is ready for the first."""

    def __init__(self, work: Callable[[_ProcessTask], Answer], context: Context) -> None:
        self.task: tuple[_ProcessTask] | None = None  # what it is at
        self.is_alive = True
        self.pipe, its_pipe = context.Pipe()
        try:
            self._process = context.Process(target=_serve, args=(its_pipe, work))
            self._process.start()
        except OSError:
            self.pipe.close()
            raise
        finally:
            its_pipe.close()

    def give(self, task: _ProcessTask) -> None:
        """Send a task; if the process has just died, `hear` will tell."""
        self.task = (task,)
        with suppress(BrokenPipeError, ConnectionError):
            self.pipe.send(task)

    def hear(self) -> Answer | None:
        """Return the answer; raise what went wrong with the task."""
        try:
            answer, error = self.pipe.recv()
        except (EOFError, OSError):
            self.is_alive = False
            return None
        if error is not None:
            raise error
        found: Answer | None = answer
        return found

    def end(self) -> None:
        """End it at once: it holds nothing that anyone needs."""
        self.pipe.close()
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection, work: Callable[[_ProcessTask], Answer]) -> None:
    """Do what is sent, until nothing more can be; runs in a process of its own."""
    _die_quietly()
    with suppress(RuntimeError):  # no room for a thread: it ends after its task
        threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        pipe.send((None, None))
        while True:
            pipe.send_bytes(_pack_answer(work, pipe.recv()))


def _pack_answer(work: Callable[[_ProcessTask], Answer], task: _ProcessTask) -> bytes:
    """Return what `hear` reads: the answer, or what went wrong and where."""
    try:
        return pickle.dumps((work(task), None))
    except Exception as error:  # noqa: BLE001  raised in the parent
        place = traceback.format_exc()
        with suppress(Exception):  # an error may hold anything
            error.add_note(place)
            return pickle.dumps((None, error))
        return pickle.dumps((None, RuntimeError(place)))


def choose_context() -> Context:
    """Choose how processes start: fork where that is safe, it is ten times as fast."""
    if _can_fork():
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")


def _can_fork() -> bool:
    """Return whether a copy of this process is cheap and safe: Linux, and no other threads.

    A lock that another thread (a library's, JAX's) holds would stay locked in the copy.
    """
    if sys.platform != "linux":
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False  # nothing tells


@contextmanager
def _interrupt_held() -> Iterator[None]:
    """Hold Ctrl-C back; processes that start meanwhile inherit that."""
    if not _CAN_HOLD:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _die_quietly() -> None:
    """Let Ctrl-C end this process at once."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _CAN_HOLD:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _end_with_parent() -> None:
    """Wait for the parent to end, in whatever way; then end this process at once."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


_MOST_WORDS: Final = 300  # characters of what an executor says
_GIVEN_UP: Final = "the executor gave this up"
_BLAMED: Final = "KilledWorker"  # Dask's error


class _Bug(Struct, frozen=True):
    """What a function raised in a worker that is no HlotoolError."""

    error: Exception


def work_in_executor(
    executor: Executor,
    function: Callable[[Item], Result],
    items: Sequence[Item],
    report: Report[Item, Result],
) -> Found[Result]:
    """Send items to an executor one by one, as nobody knows its workers; return results by number.

    What was not finished when it broke is missing; what it gives up itself is a Failure. Dask
    blames all that a dead worker had before it: such items are sent again, each alone. Raises what
    the function raises. However it ends, nothing of this stays in the executor's queue.
    """
    largest_first = sorted(range(len(items)), key=lambda each: -items[each].size_bytes)
    found: Found[Result] = {}
    for number, result in _send(executor, function, items, largest_first):
        found[number] = result
        if not _is_blamed(result):
            report(items[number], result)
    for blamed in [number for number, result in found.items() if _is_blamed(result)]:
        for number, result in _send(executor, function, items, [blamed]):
            found[number] = result
            report(items[number], result)
    return found


def _is_blamed(result: object) -> bool:
    return isinstance(result, Failure) and result.message.startswith(f"{_GIVEN_UP}: {_BLAMED}")


def _send(
    executor: Executor,
    function: Callable[[Item], Result],
    items: Sequence[Item],
    numbers: Iterable[int],
) -> Iterator[tuple[int, Result | Failure]]:
    """Send items of these numbers; yield number and result as they come."""
    sent: dict[Future[Result | Failure | _Bug], int] = {}
    try:
        with suppress(BrokenExecutor):  # a worker may die before all is sent
            for number in numbers:
                call = os.urandom(16)
                sent[executor.submit(_attempt_there, function, items[number], call)] = number
        for work in as_completed(list(sent)):
            number = sent.pop(work)  # and with it what the executor keeps of it
            with suppress(BrokenExecutor):
                yield number, _take_result(work)
    finally:
        for work in sent:
            work.cancel()


def _take_result(work: Future[Result | Failure | _Bug]) -> Result | Failure:
    """Return what came of an item; raise what is a bug, and BrokenExecutor."""
    try:
        result = work.result()
    except BrokenExecutor:
        raise
    except Exception as error:  # noqa: BLE001  of the executor's: Dask's KilledWorker, and others
        said = str(error).partition("\n")[0][:_MOST_WORDS]
        why = f"{type(error).__name__}: {said}" if said else type(error).__name__
        return Failure(f"{_GIVEN_UP}: {why}", 3)
    if isinstance(result, _Bug):
        raise result.error
    return result


def _attempt_there(
    function: Callable[[Item], Result], item: Item, _call: bytes
) -> Result | Failure | _Bug:
    """Apply the function to one item; runs in a worker of an executor.

    Dask takes equal calls for one and keeps what came of it, but files change: no calls are equal.
    """
    try:
        return attempt(function, item)
    except Exception as error:  # noqa: BLE001  raised in the parent
        error.add_note(traceback.format_exc())
        return _Bug(error)


_PATIENCE_SECONDS: Final = 10


@contextmanager
def connect_cluster(address: str, say: Callable[[str], None]) -> Iterator[Executor]:
    """Give the executor of a cluster whose scheduler has this address, `tcp://host:8786`.

    Raises UsageError where Dask is not installed or the address is none, InputError where nobody
    answers. `say` hears of a cluster without workers: it may yet get some.
    """
    try:
        from distributed import Client  # noqa: PLC0415  heavy, and few need it
    except ImportError:
        raise UsageError(
            "--dask: Dask is not installed; install hlotool[dask], here and at the workers."
        ) from None
    try:
        client = Client(address, timeout=_PATIENCE_SECONDS, set_as_default=False)
    except ValueError as error:
        raise UsageError(f"--dask {address}: {error}.") from error
    except OSError as error:
        raise InputError(
            f"--dask {address}: no scheduler answers there within {_PATIENCE_SECONDS} seconds."
        ) from error
    with _silent_log(), client:
        if not client.scheduler_info()["workers"]:
            say(f"--dask {address}: the cluster has no workers yet; waiting for some.")
        yield client.get_executor()


@contextmanager
def _silent_log() -> Iterator[None]:
    """Let Dask print no tracebacks of what becomes a row with an error."""
    log = logging.getLogger("distributed")
    before, log.handlers = log.handlers, [logging.NullHandler()]
    try:
        yield
    finally:
        log.handlers = before
