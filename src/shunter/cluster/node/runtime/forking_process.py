"""Starts a process that forks for each request (`launch.forking`), connected by a socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from pathlib import Path


async def start_forking(
    command: list[str],
    *arguments: str,
    log_path: Path,
    holder_file: Path | None,
    environment: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> tuple[asyncio.subprocess.Process, socket.socket]:
    """Starts the process; returns it and the socket for its requests, which wait there until it is ready. The number of its end
    of the socket, the arguments, and the holder file, if any, are appended to the `command`; environment and working directory
    are this process's unless given. Raises OSError."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    words = [str(theirs.fileno()), *arguments, *([str(holder_file)] if holder_file else [])]
    try:
        with theirs, log_path.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *command, *words, env=environment, cwd=cwd, pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
    except BaseException:
        ours.close()
        raise
    return process, ours
