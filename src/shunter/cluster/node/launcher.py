"""The agent's end of the launcher: starts it, sends requests, starts it again when it was killed.

Containers do not depend on the launcher: their supervisors outlive it. So a dead launcher is no event, only a new process.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from shunter.cluster.node.launch import zygote
from shunter.errors import EnvironmentProblem


class LauncherError(EnvironmentProblem):
    """The launcher could not do what it was asked; the message is the kernel's."""


class Launcher:
    """One launcher process. Requests may be sent from one event loop only; they run at the same time."""

    def __init__(self, log_path: Path) -> None:
        self._log_path = log_path
        self._process: asyncio.subprocess.Process | None = None
        self._socket: socket.socket | None = None

    async def start(self) -> None:
        """Starts the process; returns before it is ready, as requests wait in its socket."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs, self._log_path.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-c", zygote.entry_point(), str(theirs.fileno()),
                pass_fds=(theirs.fileno(),), stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._socket = ours

    async def stop(self) -> None:
        """Ends the launcher. Containers go on."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            await self._process.wait()
            self._process = None

    async def run_attempt(self, directory: Path) -> int:
        """Has the attempt in `directory` run; returns the read end of its events FIFO (see launch.attempt)."""
        path = f"{directory}/events"
        os.mkfifo(f"{directory}/control", 0o600)
        os.mkfifo(path, 0o600)
        events = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        right_to_run = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            await self._send({"do": "run", "directory": str(directory)}, right_to_run)
        finally:
            os.close(right_to_run)
        return events

    async def request(self, do: str, **arguments: Any) -> Any:
        """The launcher's answer. Raises LauncherError when it failed or was killed meanwhile."""
        answer, answer_in = os.pipe()
        try:
            await self._send({"do": do, **arguments}, answer_in)
        except BaseException:
            os.close(answer)
            raise
        finally:
            os.close(answer_in)
        data = await _read_to_end(answer)
        if not data:
            raise LauncherError(f"the launcher was killed while it handled {do!r}")
        reply = json.loads(data)
        if "error" in reply:
            raise LauncherError(reply["error"])
        return reply.get("result")

    async def _send(self, request: dict[str, Any], descriptor: int) -> None:
        payload = json.dumps(request).encode()
        message = zygote.HEADER.pack(len(payload)) + payload
        if self._process is None or self._process.returncode is not None:
            await self.start()
        assert self._socket is not None
        try:
            socket.send_fds(self._socket, [message], [descriptor])
        except (BrokenPipeError, ConnectionResetError):
            await self.start()
            socket.send_fds(self._socket, [message], [descriptor])


async def _read_to_end(descriptor: int) -> bytes:
    """Everything that is written to a pipe until its last writer is gone. Closes it."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb"))
    try:
        return await reader.read()
    finally:
        transport.close()
