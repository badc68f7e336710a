"""Ends the supervisor of a cluster, and waits for its process."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator

from shunter.cluster import supervisor
from shunter.cluster.state_dir import StateDir
from shunter.errors import EnvironmentProblem

_LOOK_SECONDS = 0.02


def end_supervisor(state: StateDir, timeout: float) -> None:
    """Returns once the process that has the lock of the directory has ended: it gives up the lock a moment before.

    Raises EnvironmentProblem when that does not happen within `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    has_ended, pid = _always, 0
    with contextlib.ExitStack() as opened:
        while state.is_locked() or not has_ended():
            # Without a record it has stopped all and is about to end, or there was no room on the disk for one until now.
            if not pid and (record := state.read_record()):
                pid = record.supervisor
                has_ended = opened.enter_context(_end_of(pid))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            if time.monotonic() > deadline:
                raise _did_not_stop(state, pid, timeout)
            time.sleep(_LOOK_SECONDS)


def _always() -> bool:
    return True


@contextlib.contextmanager
def _end_of(pid: int) -> Iterator[Callable[[], bool]]:
    """Whether a process has ended, also one that was not waited for. True where the system cannot say."""
    descriptor = -1
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid) if sys.platform == "linux" else -1
    if descriptor < 0:
        yield _always
        return
    try:
        yield lambda: bool(select.select([descriptor], [], [], 0)[0])
    finally:
        os.close(descriptor)


def _did_not_stop(state: StateDir, pid: int, timeout: float) -> EnvironmentProblem:
    which = f" (pid {pid})" if pid else ""
    end = f"`kill -9 {pid}`" if pid else f"`kill -9` and its pid, which `pgrep -f {supervisor.__file__}` finds,"
    return EnvironmentProblem(
        f"the supervisor{which} of {state.root} did not stop within {timeout:.0f} s.",
        f"See {state.logs}, then end it with {end} and run `shunter down` again.",
    )
