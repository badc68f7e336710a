"""A process that is started again whenever it ends, as a Deployment or systemd does it."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
BACK_OFF = 0.5
"""Seconds from an end to the next start."""
STOP_SECONDS = 30.0


class KeptProcess:
    """Runs from the constructor to `stop`; all that its processes write goes to the end of `log`."""

    def __init__(self, command: Sequence[str], *, log: Path) -> None:
        self._command = command
        self._log = log
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, name=log.stem, daemon=True)
        self._thread.start()

    def kill(self) -> None:
        """Kills the process as `kill -9` does; returns when the next one is started."""
        with self._changed:
            self._changed.wait_for(lambda: self._process is not None)
            killed = self._process
            assert killed is not None
            killed.kill()
            self._changed.wait_for(lambda: self._process is not None and self._process is not killed)

    def stop(self) -> None:
        """Ends the process, by force when SIGTERM does not."""
        with self._changed:
            self._stopping.set()
            if self._process:
                self._process.terminate()
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive() and self._process:
            self._process.kill()
        self._thread.join()

    def _keep(self) -> None:
        while not self._stopping.is_set():
            with self._changed, self._log.open("ab") as log:
                if self._stopping.is_set():
                    return
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    preexec_fn=_die_with_this_thread,
                )
                self._changed.notify_all()
            self._process.wait()
            self._stopping.wait(BACK_OFF)


def _die_with_this_thread() -> None:
    """Runs between fork and exec: a test session that is killed leaves nothing that runs."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
