"""One function applied to many inputs, and what becomes of one that fails.

`map_inputs` is all that most need, `iterate_inputs` where results go out as they come. The work of
a large dump directory is parsing, which holds Python's lock; so processes, not threads. Only inputs
and results are sent between them, never a text or a module. The processes are a pool of
`concurrent.futures`, as any executor of the caller's is: a pool of this machine, Dask's, MPI's.
That machinery is imported late: it costs more than reading a small dump.

What a change must keep: an input that fails, or kills its process, costs its own result and no
other; no process outlives this one, however this one ends; Ctrl-C ends all without a traceback.
tests/test_inputs_workers.py and tests/test_interrupt.py kill processes to see it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from hlotool import __version__
from hlotool.dump.read import may_share
from hlotool.errors import HlotoolError, InputError, UsageError
from hlotool.hlo.parser import collector

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkContext, SpawnContext

    Context: TypeAlias = ForkContext | SpawnContext

# Below this, starting processes costs more than it saves (see docs/inputs.md).
MIN_PARALLEL_BYTES: Final = 1 << 20
# Small inputs are sent together, but not all of them; what is lost with a process stays little.
_CHUNKS_PER_WORKER: Final = 8
_MOST_TOGETHER_BYTES: Final = 4 << 20
_DASK_TIMEOUT_SECONDS: Final = 10
_LONGEST_MESSAGE: Final = 300  # characters of what an executor says
_KILLED_WORKER: Final = "KilledWorker"  # Dask's error, known by its name: Dask may not be installed
_MOST_LOOKS: Final = 20  # a millisecond apart, for a thread that is about to end
_HAS_SIGNAL_MASK: Final = hasattr(signal, "pthread_sigmask")  # not on Windows


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


class _Bug(Struct, frozen=True):
    """What a function raised in a worker that is no HlotoolError."""

    error: Exception


class _NoProcessError(Exception):
    """No process can be started: no right to, no memory, no thread, no semaphore."""


_DIED: Final = Failure("the process for this file died, perhaps for lack of memory.", 3)

Item = TypeVar("Item", bound=Sized)
Result = TypeVar("Result")
Task: TypeAlias = list[int]  # the numbers of items that are sent to a worker at once


def map_inputs(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    executor: Executor | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Result | Failure]:
    """Return what `iterate_inputs` yields, in order."""
    found = dict(iterate_inputs(function, items, executor=executor, progress=progress))
    return [found[number] for number in range(len(items))]


def iterate_inputs(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    executor: Executor | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[int, Result | Failure]]:
    """Yield the number of every item and `function(item)`, or a Failure, as they come.

    A HlotoolError becomes a Failure; any other exception is a bug and is raised. The largest
    items start first. `progress` is called in this process with the bytes just finished.

    The executor may be any; where its workers are processes, `function`, items and results
    must be picklable. What it does not finish, as a worker died, cannot read it or has another
    hlotool, are Failures.
    Without an executor the work is done in processes of its own, one for each processor this
    process may use; few or small items are done here, and all where processes cannot be started,
    or where files come from an address or a pipe.
    """
    work = Work(function, items)
    if executor is not None:
        results = work.map_in_executor(executor)
    else:
        processes = min(available_processors(), len(items))
        is_much = processes > 1 and sum(item.size_bytes for item in items) >= MIN_PARALLEL_BYTES
        results = work.map_in_processes(processes if is_much and may_share() else 0)
    for number, result in results:
        yield number, result
        if progress is not None:
            progress(items[number].size_bytes)


class Work(Struct, Generic[Item, Result], eq=False):
    """A function, and the items it is applied to; results are yielded with their numbers."""

    function: Callable[[Item], Result]
    items: Sequence[Item]

    def map_in_processes(self, processes: int) -> Iterator[tuple[int, Result | Failure]]:
        """Yield the results of so many processes of our own, or of this one if that is 0.

        When one dies, the pool is lost with all that it was at. Each such item is done again,
        alone, so that only the one that kills its process costs its result. What no process can be
        started for is done in this one.
        """
        numbers = list(range(len(self.items)))
        tasks: deque[Task] = deque(make_chunks(self.items, processes) if processes else [numbers])
        alone: deque[Task] = deque()
        if processes:
            context = choose_context()
            # Where no process can be started, what is left goes on below, in this one.
            with suppress(_NoProcessError):
                while tasks or alone:
                    if alone:
                        for lost in (yield from self._work_in_pool(context, 1, alone)):
                            yield lost, _DIED
                    else:
                        died = yield from self._work_in_pool(context, processes, tasks)
                        alone.extend([each] for each in died)
        for number in (number for task in (*tasks, *alone) for number in task):
            yield number, attempt(self.function, self.items[number])

    def _work_in_pool(
        self, context: Context, processes: int, tasks: deque[Task]
    ) -> Generator[tuple[int, Result | Failure], None, list[int]]:
        """Do tasks in a pool of processes, as long as it lives; return what was lost with it."""
        from concurrent.futures import BrokenExecutor  # noqa: PLC0415  start-up time

        lost: list[int] = []
        with _open_pool(context, processes) as pool:
            # No more at once than there are processes: what waits in the pool would be lost too.
            unfinished = yield from self._run_tasks(pool, tasks, at_once=processes)
            for task, error in unfinished:
                if not isinstance(error, BrokenExecutor):
                    raise error
                lost += task
        return lost

    def map_in_executor(self, executor: Executor) -> Iterator[tuple[int, Result | Failure]]:
        """Send items to an executor one by one, and all at once, as nobody knows its workers.

        What was not finished when it broke has died; what it gives up itself is a Failure. Dask
        blames all that a dead worker had before it: such items are sent again, each alone.
        """
        from concurrent.futures import BrokenExecutor  # noqa: PLC0415  start-up time

        tasks: deque[Task] = deque([number] for number in _order_by_size(self.items))
        again: deque[Task] = deque()
        died: list[int] = []
        for sent, at_once in ((tasks, len(self.items)), (again, 1)):
            for (number,), error in (yield from self._run_tasks(executor, sent, at_once=at_once)):
                said = str(error).partition("\n")[0][:_LONGEST_MESSAGE]
                why = f"{type(error).__name__}: {said}" if said else type(error).__name__
                if isinstance(error, BrokenExecutor):
                    died.append(number)
                elif type(error).__name__ == _KILLED_WORKER and sent is tasks:
                    again.append([number])
                else:
                    yield number, Failure(f"the executor gave this up: {why}", 3)
        for number in (*died, *(number for task in (*tasks, *again) for number in task)):
            yield number, _DIED

    def _run_tasks(
        self, executor: Executor, tasks: deque[Task], *, at_once: int
    ) -> Generator[tuple[int, Result | Failure], None, list[tuple[Task, Exception]]]:
        """Let an executor do tasks; return those that it did not finish, and its errors.

        Yields results as they come, and raises what the function raised. Once the executor broke,
        tasks are left. However this ends, nothing of it stays in the executor's queue.
        """
        from concurrent.futures import BrokenExecutor  # noqa: PLC0415  start-up time

        unfinished: list[tuple[Task, Exception]] = []
        sent: dict[Future[list[Result | Failure] | _Bug], Task] = {}
        done: SimpleQueue[Future[list[Result | Failure] | _Bug]] = SimpleQueue()
        try:
            while True:
                with suppress(BrokenExecutor):  # a worker may die before all is sent
                    while tasks and len(sent) < at_once:
                        # Dask takes equal calls for one and keeps what came of it, but files
                        # change: no calls are equal.
                        items, call = [self.items[number] for number in tasks[0]], os.urandom(16)
                        work = executor.submit(
                            _attempt_each, self.function, items, __version__, call
                        )
                        sent[work] = tasks.popleft()
                        work.add_done_callback(done.put)
                if not sent:
                    return unfinished
                work = done.get()
                task = sent.pop(work)
                try:
                    results = work.result()
                except Exception as error:  # noqa: BLE001  the executor's: the function's is a _Bug
                    unfinished.append((task, error))
                    continue
                if isinstance(results, _Bug):
                    raise results.error
                yield from zip(task, results, strict=True)
        finally:
            for work in sent:
                work.cancel()


def _attempt_each(
    function: Callable[[Item], Result], items: Sequence[Item], version: str, _call: bytes
) -> list[Result | Failure] | _Bug:
    """Apply the function to the items of a task; runs in a worker."""
    if version != __version__:
        why = f"the worker for this file has hlotool {__version__}; install {version} there."
        return [Failure(why, 3) for _ in items]
    try:
        return [attempt(function, item) for item in items]
    except Exception as error:  # noqa: BLE001  raised in the parent
        import pickle  # noqa: PLC0415  start-up time
        import traceback  # noqa: PLC0415  the same

        place = traceback.format_exc()
        error.add_note(place)
        with suppress(Exception):  # an error may hold what cannot be sent
            pickle.loads(pickle.dumps(error))  # noqa: S301  our own
            return _Bug(error)
        return _Bug(RuntimeError(place))


def attempt(function: Callable[[Item], Result], item: Item) -> Result | Failure:
    """Apply the function to one item; a HlotoolError becomes a Failure."""
    with collector.collected():
        try:
            return function(item)
        except HlotoolError as error:
            return Failure(str(error), error.exit_code)


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_chunks(items: Sequence[Sized], workers: int) -> list[Task]:
    """Group the numbers of the items, largest first, small ones together.

    A chunk is closed once it holds a fair share of the work, or much, so that a large item is
    alone.
    """
    sizes = [item.size_bytes for item in items]
    share = min(sum(sizes) / (workers * _CHUNKS_PER_WORKER), _MOST_TOGETHER_BYTES)
    chunks: list[Task] = []
    room = 0.0
    for number in _order_by_size(items):
        if room <= 0:
            chunks.append([])
            room = share
        chunks[-1].append(number)
        room -= sizes[number]
    return chunks


def _order_by_size(items: Sequence[Sized]) -> list[int]:
    return sorted(range(len(items)), key=lambda number: -items[number].size_bytes)


@contextmanager
def _open_pool(context: Context, processes: int) -> Iterator[Executor]:
    """Give a pool of processes that run; they end when this is left, and with this process.

    Each holds the end of a pipe that says nothing but when its other end, here, is closed: that
    happens however this process ends, and ends a worker that is at work, which `shutdown` does
    not. Raises _NoProcessError where not all can be started.
    """
    import multiprocessing  # noqa: PLC0415  start-up time
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415  the same

    if multiprocessing.current_process().daemon:  # a process of somebody's pool may start none
        raise _NoProcessError
    try:
        theirs, ours = context.Pipe(duplex=False)
        pool = ProcessPoolExecutor(processes, context, _begin_worker, (theirs, ours))
    except (OSError, NotImplementedError) as error:  # the latter on a system without semaphores
        raise _NoProcessError from error
    try:
        try:
            # A pool starts processes when work comes. Here they start while Ctrl-C is held, and
            # that all of them answer shows that they could be started.
            with _interrupt_held():
                started = [pool.submit(os.getpid) for _ in range(processes)]
            for each in started:
                each.result()
        except (OSError, RuntimeError) as error:  # BrokenExecutor is one of these
            raise _NoProcessError from error
        yield pool
    finally:
        ours.close()
        theirs.close()
        with suppress(RuntimeError):  # its own thread could not be started
            pool.shutdown(cancel_futures=True)


def choose_context() -> Context:
    """Choose how processes start: fork where that is safe, it is ten times as fast."""
    import multiprocessing  # noqa: PLC0415  start-up time

    if _can_fork():
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")


def _can_fork() -> bool:
    """Return whether a copy of this process is cheap and safe: Linux, and no other threads.

    A lock that another thread (a library's, JAX's) holds would stay locked in the copy. The
    system still shows a thread for a moment after it ended, such as that of the last pool.
    """
    if sys.platform != "linux":
        return False
    for _ in range(_MOST_LOOKS):
        try:
            if len(os.listdir("/proc/self/task")) == 1:
                return True
        except OSError:
            return False  # nothing tells
        if threading.active_count() > 1:
            return False
        time.sleep(0.001)
    return False


@contextmanager
def _interrupt_held() -> Iterator[None]:
    """Hold Ctrl-C back; processes that start meanwhile inherit that.

    Between its start and the first line of `_begin_worker` a process would print a traceback.
    """
    if not _HAS_SIGNAL_MASK:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(theirs: Connection, ours: Connection) -> None:
    """Let Ctrl-C end this worker at once, without a traceback, and the parent's end as well."""
    ours.close()  # this process has a copy, with which the pipe would stay open
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _HAS_SIGNAL_MASK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        threading.Thread(target=_end_with_pipe, args=(theirs,), daemon=True).start()
    except RuntimeError:  # no room for a thread; without it this could outlive its parent
        os._exit(1)


def _end_with_pipe(pipe: Connection) -> None:
    """Wait until the pipe is closed; then end this process, whatever it is at."""
    with suppress(EOFError, OSError):
        pipe.recv_bytes()
    os._exit(1)


@contextmanager
def connect_cluster(address: str, say: Callable[[str], None]) -> Iterator[Executor]:
    """Give the executor of a Dask cluster whose scheduler has this address, `tcp://host:8786`.

    Its workers need the same hlotool, and have to see the files under the same paths. Raises
    UsageError where Dask is not installed or the address is none, InputError where nobody answers.
    `say` hears of a cluster without workers: it may yet get some.
    """
    import logging  # noqa: PLC0415  start-up time
    import socket  # noqa: PLC0415

    try:
        from distributed import Client  # noqa: PLC0415  heavy, and few need it
        from distributed.comm import get_address_host_port  # noqa: PLC0415
    except ImportError:
        raise UsageError(
            "--dask: Dask is not installed; install hlotool[dask], here and at the workers."
        ) from None
    try:
        # A client that cannot start closes itself when it is collected, and waits for ever if
        # another one starts at that moment: so who is not there is asked without one.
        socket.create_connection(get_address_host_port(address), _DASK_TIMEOUT_SECONDS).close()
        client = Client(address, timeout=_DASK_TIMEOUT_SECONDS, set_as_default=False)
    except ValueError as error:
        raise UsageError(f"--dask {address}: {error}.") from error
    except OSError as error:
        raise InputError(
            f"--dask {address}: no scheduler answers there within {_DASK_TIMEOUT_SECONDS} seconds."
        ) from error
    log = logging.getLogger("distributed")  # prints tracebacks of what becomes a row with an error
    before, log.handlers = log.handlers, [logging.NullHandler()]
    try:
        with client:
            if not client.scheduler_info()["workers"]:
                say(f"--dask {address}: the cluster has no workers yet; waiting for some.")
            yield client.get_executor()
    finally:
        log.handlers = before
