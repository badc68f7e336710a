"""The sshd of a pod: lets in who has the job's key, and runs what is asked for as this user. No terminals, no forwarding.

A session gets the environment of the image and nothing that the pod declares, as with the sshd of a real image.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import asyncssh

from shunter.cluster.node.content.images import INHERITED
from shunter.cluster.node.ssh.settings import Problem, ServerSettings, configuration_file, server_settings

_SHELL = "/bin/sh"
_FAILURE = 255
_PIECE = 64 * 1024


def main(keys: Path, arguments: list[str]) -> int:
    """Serves until SIGTERM; otherwise the exit status says that it could not start."""
    try:
        file = configuration_file(arguments)
        text = file.read_text() if file and file.exists() else ""
        asyncio.run(_serve(server_settings(arguments, text, keys)))
    except (Problem, OSError, asyncssh.KeyImportError) as error:
        _say(f"sshd: {error}")
        return _FAILURE
    return 0


async def _serve(settings: ServerSettings) -> None:
    """Raises OSError for a port that is taken and files that are not there, KeyImportError for files that hold no keys."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    server = await asyncssh.listen(
        "0.0.0.0",
        settings.port,
        server_factory=_Guard,
        server_host_keys=[str(file) for file in settings.host_keys],
        authorized_client_keys=[str(file) for file in settings.authorized_keys],
        process_factory=partial(_run, settings.forced_command),
        encoding=None,
        config=None,
        reuse_address=True,
        allow_pty=False,
        agent_forwarding=False,
        x11_forwarding=False,
    )
    _say(f"Server listening on 0.0.0.0 port {settings.port}.")
    await ended.wait()
    server.close()


class _Guard(asyncssh.SSHServer):
    """Says who comes in and who does not, as sshd does with -e."""

    def __init__(self) -> None:
        self._user = ""
        self._peer = ""

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        host, port, *_ = conn.get_extra_info("peername")
        self._peer = f"{host} port {port}"

    def begin_auth(self, username: str) -> bool:
        self._user = username
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Asked about keys that are not among the authorized ones."""
        _say(f"Failed publickey for {username} from {self._peer}: {key.get_fingerprint()} is not authorized")
        return False

    def auth_completed(self) -> None:
        _say(f"Accepted publickey for {self._user} from {self._peer}")


async def _run(forced_command: str, process: asyncssh.SSHServerProcess[bytes]) -> None:
    """One session: a command, or a shell that reads its commands. It is over when no process writes to its output any more."""
    command = forced_command or process.command
    asked = {"SSH_ORIGINAL_COMMAND": process.command} if forced_command and process.command else {}
    child = await asyncio.create_subprocess_exec(
        _SHELL,
        *(["-c", command] if command else []),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={name: os.environ[name] for name in ("PATH", "HOME", "LANG", *INHERITED) if name in os.environ} | asked,
        cwd=os.environ.get("HOME", "/"),
        start_new_session=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    typed = asyncio.create_task(_copy_input(process.stdin, child.stdin))
    try:
        await asyncio.gather(_copy_output(child.stdout, process.stdout), _copy_output(child.stderr, process.stderr))
        status = await child.wait()
    finally:
        typed.cancel()
        if child.returncode is None:  # the connection was lost
            os.killpg(child.pid, signal.SIGHUP)
    if status < 0:
        process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
    else:
        process.exit(status)


async def _copy_input(source: asyncssh.SSHReader[bytes], target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):  # a command need not read all
        while piece := await source.read(_PIECE):
            target.write(piece)
            await target.drain()
    target.close()


async def _copy_output(source: asyncio.StreamReader, target: asyncssh.SSHWriter[bytes]) -> None:
    while piece := await source.read(_PIECE):
        target.write(piece)
        await target.drain()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
