"""One function over many items in several processes, or beside another one, with the results of a plain loop.

Processes are forked, so functions and items need not be sent to them; only results come back. Nothing is forked where it does not
pay, nor in a process with threads or a running event loop, whose locks a fork would copy as they are at that moment.
"""

from __future__ import annotations

import copyreg
import gc
import io
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TypeVar

from shunter.errors import EnvironmentProblem

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_PROCESSES = 8
"""More gain little: what they read of the input is copied page by page as it is touched."""
FIRST = 16
"""Items that are done before others are shared out: what they make once (schemas, say) is made once for all processes."""


def mapped(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    least: int,
    known: Sequence[object] = (),
    done: Callable[[int], None] = lambda count: None,
) -> list[Result]:
    """`[work(item) for item in items]`. `work` changes nothing that is looked at afterwards, and its results can be pickled.

    There is at least `least` items' work for each process. Instances of classes that stand in `known` and that results refer to
    are the same objects in the results. `done` hears how many more items are done. What `work` raises is raised;
    EnvironmentProblem when a process is killed.
    """
    count = processes(len(items), least)
    if count == 1:
        return [_counted(work, item, done) for item in items]
    first = [_counted(work, item, done) for item in items[:FIRST]]
    items = items[FIRST:]
    gc.freeze()  # a collection in a child would copy every page
    workers = [_Worker(work, items[number::count], known) for number in range(1, count)]
    try:
        shares = [[_counted(work, item, done) for item in items[::count]]]
        for worker in workers:
            results = worker.results(known)
            if results is None:  # raised here, where a traceback is worth something
                results = [work(item) for item in worker.items]
            shares.append(results)
            done(len(results))
    finally:
        for worker in workers:
            worker.end()
    return [*first, *(shares[number % count][number // count] for number in range(len(items)))]


@contextmanager
def beside(work: Callable[[], Result], *, pays: bool) -> Iterator[Callable[[], Result]]:
    """Begins `work` in a process of its own if there is a processor for it and it `pays`: it takes a tenth of a second or more.
    What the block gets returns the result of `work`, which can be pickled, or raises what it raises."""
    if not pays or processes(2, 1) == 1:
        yield work
        return
    gc.freeze()  # a collection in a child would copy every page
    worker = _Worker(lambda _: work(), [None], ())

    def result() -> Result:
        try:
            found = worker.results(())
        except EnvironmentProblem:  # it was killed
            found = None
        return work() if found is None else found[0]

    try:
        yield result
    finally:
        worker.end()


def processes(items: int, least: int) -> int:
    """How many processes that many items are shared out to, this one included."""
    if not hasattr(os, "fork") or _is_child or threading.active_count() > 1 or _has_event_loop():
        return 1
    return max(1, min(_processors(), MOST_PROCESSES, items // least))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _has_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")  # which takes longer to import than many jobs to convert
    with suppress(RuntimeError):
        return asyncio is not None and asyncio.get_running_loop() is not None
    return False


def _counted(work: Callable[[Item], Result], item: Item, done: Callable[[int], None]) -> Result:
    result = work(item)
    done(1)
    return result


class _Worker:
    """A child that does its items and writes the results, pickled, to a pipe; nothing when one of them raised."""

    def __init__(self, work: Callable[[Any], Any], items: Sequence[Any], known: Sequence[object]) -> None:
        self.items = items
        self._pipe, write = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._pipe)
            _work(work, items, known, write)
        os.close(write)
        self._has_ended = False

    def results(self, known: Sequence[object]) -> list[Any] | None:
        """The results of its items; None when one of them raised. EnvironmentProblem when it ended without a word."""
        with os.fdopen(self._pipe, "rb", closefd=False) as pipe:
            content = pipe.read()
        _, status = os.waitpid(self._pid, 0)
        self._has_ended = True
        code = os.waitstatus_to_exitcode(status)
        if code == _RAISED:
            return None
        if code != 0:
            ending = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            raise EnvironmentProblem(
                f"A process that worked on {len(self.items)} of the objects {ending}.",
                "Look in the kernel's log whether memory ran out. Give fewer files at once, or run it on one processor: "
                "taskset -c 0 shunter ...",
            )
        found: list[Any] = _Reader(io.BytesIO(content), known).load()
        return found

    def end(self) -> None:
        """Kills it if it still works."""
        os.close(self._pipe)
        if not self._has_ended:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


_RAISED = 70
"""Exit code of a child in which the work raised."""
_is_child = False
"""Whether this process is one of several already."""


def _work(work: Callable[[Any], Any], items: Sequence[Any], known: Sequence[object], write: int) -> NoReturn:
    """All of a child's life. It never returns: what the parent would do at its end is none of its business."""
    global _is_child
    _is_child = True
    code = _RAISED
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        content = io.BytesIO()
        _Writer(content, known).dump([work(item) for item in items])
        with os.fdopen(write, "wb") as pipe:
            pipe.write(content.getbuffer())
        code = 0
    finally:
        os._exit(code)


class _Writer(pickle.Pickler):
    """Says of known objects only which they are: they are there on the other side of the fork."""

    def __init__(self, file: io.BytesIO, known: Sequence[object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._places = {id(one): place for place, one in enumerate(known)}
        # Asked for instances of these classes only: `reducer_override` and `persistent_id` are for each one, or each value.
        self.dispatch_table = {**copyreg.dispatch_table, **dict.fromkeys(map(type, known), self._reduced)}

    def _reduced(self, obj: object) -> Any:
        place = self._places.get(id(obj))
        return obj.__reduce_ex__(pickle.HIGHEST_PROTOCOL) if place is None else (_known_object, (place,))


def _known_object(place: int) -> object:
    raise AssertionError(f"the known object {place} is found by the reader")


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, known: Sequence[object]) -> None:
        super().__init__(file)
        self._known = known

    def find_class(self, module: str, name: str) -> Any:
        """Known objects by their places, all else as it is called."""
        is_known = (module, name) == (_known_object.__module__, _known_object.__qualname__)
        return self._known.__getitem__ if is_known else super().find_class(module, name)
