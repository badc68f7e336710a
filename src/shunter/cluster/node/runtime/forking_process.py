"""Starting a process that forks for each request (`launch.forking`), at the other end of a socket."""

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
    """The process, and the socket on which it takes requests. It need not be ready: requests wait there. To the words of the
    `command` are added the number of its end of the socket, the arguments, and the holder file, if there is one; environment and
    working directory are this process's unless given. Raises OSError."""
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
