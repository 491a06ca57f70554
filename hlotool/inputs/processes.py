"""How do processes of our own start, what do they do, and how do they end?

Each has a pipe to this process, and needs neither semaphores nor threads in it: where one
process may be started, one works. Kept apart because importing the machinery costs more than
reading a small dump.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext

    Context: TypeAlias = ForkContext | SpawnContext

_CAN_HOLD: Final = hasattr(signal, "pthread_sigmask")  # not on Windows

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def work_in_processes(
    work: Callable[[Task], Answer], tasks: deque[Task], processes: int
) -> Generator[tuple[Task, Answer | None]]:
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


class _Team(Generic[Task, Answer]):
    """The processes there are, by the pipe to each."""

    def __init__(self, work: Callable[[Task], Answer]) -> None:
        self.workers: dict[Connection, _Worker[Task, Answer]] = {}
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

    def await_some(self) -> list[_Worker[Task, Answer]]:
        """Wait until some have done their task or have died, and return these."""
        heard = wait(list(self.workers))
        return [worker for pipe, worker in self.workers.items() if pipe in heard]

    def dismiss(self, worker: _Worker[Task, Answer]) -> None:
        """End one, whatever it is at."""
        del self.workers[worker.pipe]
        worker.end()


class _Worker(Generic[Task, Answer]):
    """A process that does one task after another, and says so when it is ready for the first."""

    def __init__(self, work: Callable[[Task], Answer], context: Context) -> None:
        self.task: tuple[Task] | None = None  # what it is at
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

    def give(self, task: Task) -> None:
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


def _serve(pipe: Connection, work: Callable[[Task], Answer]) -> None:
    """Do what is sent, until nothing more can be; runs in a process of its own."""
    _die_quietly()
    with suppress(RuntimeError):  # no room for a thread: it ends after its task
        threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        pipe.send((None, None))
        while True:
            pipe.send_bytes(_pack_answer(work, pipe.recv()))


def _pack_answer(work: Callable[[Task], Answer], task: Task) -> bytes:
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
