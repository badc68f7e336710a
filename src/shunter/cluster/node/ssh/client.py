"""The ssh of a pod: runs a command on another node of the job, and ends as it ended."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import asyncssh

from shunter.cluster.node.ssh.settings import ClientSettings, Problem, client_settings

_RETRY_SECONDS = 1.0
_FAILURE = 255
"""ssh's exit status when it, not the command, failed."""


def main(keys: Path, arguments: list[str]) -> int:
    """The command's exit status."""
    try:
        return asyncio.run(_run(client_settings(arguments, keys)))
    except (Problem, asyncssh.Error, OSError) as error:
        print(f"ssh: {error}", file=sys.stderr)
        return _FAILURE


async def _run(settings: ClientSettings) -> int:
    """Raises Problem when the host cannot be reached, asyncssh.Error when it refuses."""
    async with await _connected(settings) as connection:
        process = await connection.create_process(
            settings.command or None,
            stdin=sys.stdin.buffer if settings.has_input and _can_be_waited_for(0) else subprocess.DEVNULL,
            stdout=1,
            stderr=2,
            encoding=None,
        )
        result = await process.wait()
    return _FAILURE if result.exit_status is None or result.exit_status < 0 else result.exit_status


async def _connected(settings: ClientSettings) -> asyncssh.SSHClientConnection:
    for left in reversed(range(max(1, settings.attempts))):
        try:
            return await asyncssh.connect(
                settings.host,
                settings.port,
                username=settings.user,
                client_keys=[str(settings.key)],
                known_hosts=None,
                agent_path=None,
                config=None,
                connect_timeout=settings.connect_seconds or None,
            )
        except asyncssh.PermissionDenied as error:
            raise Problem(f"{settings.user}@{settings.host}: Permission denied (publickey).") from error
        except OSError as error:
            if isinstance(error, FileNotFoundError | PermissionError):
                raise
            if not left:
                reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
                raise Problem(f"connect to host {settings.host} port {settings.port}: {reason}") from error
        await asyncio.sleep(_RETRY_SECONDS)
    raise AssertionError("the last attempt returns or raises")


def _can_be_waited_for(descriptor: int) -> bool:
    """Not /dev/null, of which the system does not tell when it can be read."""
    mode = os.fstat(descriptor).st_mode
    return not stat.S_ISCHR(mode) or os.isatty(descriptor)
