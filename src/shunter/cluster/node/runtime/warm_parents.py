"""The warm parents of a node, and the choice of the one from which a container is forked (`launch.warm_parent`).

A parent holds no state: when it is killed, its containers continue, and a new one is started. The agent starts one for each
environment that containers use, and keeps the most recent few.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from logging import getLogger
from pathlib import Path
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.node.content.warm_start import Interpreter, difference, warm_start
from shunter.cluster.node.launch import warm_parent
from shunter.cluster.node.launch.requests import packed
from shunter.cluster.node.launch.warm_hook import sitecustomize
from shunter.cluster.node.runtime.forking_process import start_forking

log = getLogger(__name__)

KEPT = 3
"""The number of parents at a time: each holds its imported modules in memory, hundreds of MB with torch, most of which its
containers share."""
RETRY_SECONDS = 60.0
"""How long no new parent is started after one failed."""
_HELLO_BYTES = 1 << 20


class _Kind(NamedTuple):
    """What identifies a parent."""

    interpreter: Interpreter
    modules: tuple[str, ...]


class WarmParent:
    """One parent. `imported` is set once it can fork, `problem` when it cannot."""

    def __init__(self) -> None:
        self.connection: socket.socket | None = None
        self.imported: warm_parent.Imported | None = None
        self.problem = ""
        self.starting: asyncio.Task[None] | None = None
        self._changed: dict[str, int] = {}
        self._failed = 0.0
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, kind: _Kind, log_path: Path, holder_file: Path | None) -> None:
        """Starts it; returns when it can fork, or has a problem."""
        try:
            self._process, self.connection = await start_forking(
                [kind.interpreter.path, "-m", "shunter"], ",".join(kind.modules),
                log_path=log_path, holder_file=holder_file, environment=_environment(kind.interpreter), cwd="/",
            )  # fmt: skip
            hello = await self._line()
        except OSError as error:
            hello, self.problem = b"", str(error)
        if hello:
            imported: warm_parent.Imported = json.loads(hello)
            self._changed = _change_times(imported["directories"])
            self.imported, self.problem = imported, imported["problem"]
        elif not self.problem:
            self.problem = f"it ended while it imported; see {log_path}"
        if self.problem:
            self._failed = time.monotonic()
            log.warning("No warm start of %s with %s: %s", kind.modules, kind.interpreter.path, self.problem)
            self._close()

    async def _line(self) -> bytes:
        """The next line that it prints; empty when it ended before."""
        assert self.connection is not None
        self.connection.setblocking(False)
        loop = asyncio.get_running_loop()
        data = b""
        while not data.endswith(b"\n"):
            chunk = await loop.sock_recv(self.connection, _HELLO_BYTES)
            if not chunk:
                return b""
            data += chunk
        self.connection.setblocking(True)
        return data

    def send(self, request: Json, descriptor: int) -> bool:
        """Whether it was still there to take the request."""
        try:
            assert self.connection is not None
            socket.send_fds(self.connection, [packed(request)], [descriptor])
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    @property
    def is_starting(self) -> bool:
        """Whether it still imports: it cannot fork yet, and has no problem either."""
        return self.imported is None and not self.problem

    @property
    def rests(self) -> bool:
        """Whether it failed so recently that it is too early to retry. A missing package may be installed before the retry."""
        return bool(self.problem) and time.monotonic() - self._failed < RETRY_SECONDS

    @property
    def is_usable(self) -> bool:
        """Whether it can fork: its process runs, and no package was installed, upgraded or removed in the directories it imported
        from."""
        is_alive = self._process is not None and self._process.returncode is None and not self.problem
        return is_alive and self._changed == _change_times(self._changed)

    def end(self) -> None:
        """Ends it. Containers that were forked from it continue."""
        if self.starting is not None:
            self.starting.cancel()
        self._close()

    def _close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class WarmParents:
    """Starts parents, and finds the one for a container. Used from one event loop."""

    def __init__(self, log_path: Path, holder_file: Path | None) -> None:
        self._log_path = log_path
        self._holder_file = holder_file
        self._parents: dict[_Kind, WarmParent] = {}

    def find(self, spec: Json, modules: tuple[str, ...]) -> tuple[WarmParent | None, Json]:
        """The parent for a container, or None; and the fields to add to its spec: `warm`, its program, or `cold`, the reason for
        a cold start. A missing parent is started for later containers."""
        asked = warm_start(spec)
        if isinstance(asked, str):
            return None, {"cold": asked}
        parent = self._parent(_Kind(asked.interpreter, modules))
        names = ", ".join(modules)
        if parent is None:
            return None, {"cold": f"no process had imported {names} with its environment; later ones start warm"}
        if parent.problem:
            return None, {"cold": f"{names}: {parent.problem}"}
        if parent.imported is None:
            return None, {"cold": f"the process that imports {names} with its environment was not ready yet"}
        if different := difference(spec, names=parent.imported["names"], directories=parent.imported["directories"]):
            return None, {"cold": different}
        return parent, {"warm": asked.program}

    async def prepare(self, interpreter: Interpreter, modules: tuple[str, ...]) -> None:
        """Starts the parent for containers of this interpreter, if it is missing; returns when it can fork, or has a problem."""
        self._parent(_Kind(interpreter, modules))
        await asyncio.gather(*(parent.starting for parent in self._parents.values() if parent.starting))

    def stop(self) -> None:
        """Ends all parents; containers forked from them continue."""
        for parent in self._parents.values():
            parent.end()
        self._parents.clear()

    def _parent(self, kind: _Kind) -> WarmParent | None:
        found = self._parents.pop(kind, None)
        if found is not None and (found.is_starting or found.is_usable or found.rests):
            self._parents[kind] = found  # the last to be given up
            return found
        if found is not None:
            found.end()
        while len(self._parents) >= KEPT:
            self._parents.pop(next(iter(self._parents))).end()
        parent = self._parents[kind] = WarmParent()
        parent.starting = asyncio.ensure_future(parent.start(kind, self._log_path, self._holder_file))
        return None


def _environment(interpreter: Interpreter) -> dict[str, str]:
    """The parent's own environment, in which Python finds the code of a warm parent. The module of the command line is never
    run."""
    environment = dict(interpreter.environment)
    places = [os.path.dirname(sitecustomize.__file__), *filter(None, [environment.get("PYTHONPATH")])]
    return {**environment, "PYTHONPATH": ":".join(places)}


def _change_times(directories: Iterable[str]) -> dict[str, int]:
    """The time at which an entry was last added to or removed from each directory, without those that do not exist."""
    found = {}
    for directory in directories:
        with suppress(OSError):
            found[directory] = Path(directory).stat().st_mtime_ns
    return found
