"""`shunter ARGUMENTS` as a process of its own that is a fork of one which has imported the command: Python's imports take half a
second of CPU, more than most commands. Nothing else differs: it has its own arguments, environment, directory and streams.

That the command starts from nothing is shown by tests that start it by themselves and by those with `--cluster=real`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NoReturn

from shunter import cli
from shunter.cli import main

IMPORTED_LATE = (
    "cel_expr_python.cel",
    "shunter.cluster.apiserver.builtin",
    "shunter.migrate.conversion.gitops.overlay_conversion",
    "shunter.migrate.survey.neighbours.checks",
)
"""What many commands import while they run."""
SCRIPT = Path(sys.executable).parent / "shunter"
LONGEST_MESSAGE = 200_000
"""Bytes of arguments and environment."""
_starting = threading.Lock()


def shunter(
    *arguments: str,
    environment: Mapping[str, str],
    stdin: str | None = None,
    timeout: float | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` with `text` and `capture_output`; without `stdin` the command has that of this process."""
    asked = {"arguments": arguments, "environment": dict(environment), "directory": str(cwd or Path.cwd())}
    (its_input, to_it), (from_out, its_out), (from_err, its_err) = os.pipe(), os.pipe(), os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection, ThreadPoolExecutor(3) as threads:
        connection.connect(_address())
        files = [0 if stdin is None else its_input, its_out, its_err]
        socket.send_fds(connection, [json.dumps(asked).encode()], files)
        for file in (its_input, its_out, its_err):
            os.close(file)
        threads.submit(_write, to_it, stdin or "")
        read = [threads.submit(_read, file) for file in (from_out, from_err)]
        process = int(connection.recv(32))
        connection.settimeout(timeout)
        try:
            code = int(connection.recv(32))
        except TimeoutError as error:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired(arguments, timeout or 0) from error
        return subprocess.CompletedProcess(arguments, code, *(one.result() for one in read))


def _write(file: int, text: str) -> None:
    with suppress(BrokenPipeError), open(file, "w", encoding="utf-8") as stream:
        stream.write(text)


def _read(file: int) -> str:
    with open(file, encoding="utf-8") as stream:
        return stream.read()


def _address() -> str:
    """Where the process that forks listens: it is started with the first command, and ends with this process."""
    with _starting:
        return _started(os.getpid())


@cache
def _started(process: int) -> str:
    address = f"\0shunter-tests-{process}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        number = listener.fileno()
        _servers.append(subprocess.Popen([sys.executable, "-P", __file__, str(number)], stdin=subprocess.PIPE, pass_fds=[number]))
    return address


_servers: list[subprocess.Popen[bytes]] = []
"""At most one; its standard input ends with this process."""


def serve(listener: socket.socket) -> None:
    """Forks for each connection, until standard input ends."""
    for module in pkgutil.walk_packages(cli.__path__, f"{cli.__name__}."):
        importlib.import_module(module.name)
    for name in IMPORTED_LATE:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how those ended that wait for a command
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            answer(connection)
        connection.close()


def answer(connection: socket.socket) -> NoReturn:
    """Runs the command that is asked for, and says its process id, then its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, files, _, _ = socket.recv_fds(connection, LONGEST_MESSAGE, 3)
    process = os.fork()
    if process == 0:
        connection.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        run(**json.loads(message))
    for file in files:
        os.close(file)
    with suppress(OSError):  # who asked has gone
        connection.send(str(process).encode())
        _, status = os.waitpid(process, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def run(arguments: list[str], environment: dict[str, str], directory: str) -> NoReturn:
    """What the script `shunter` does, but for taking the modules apart at the end: that would write to all memory of the fork."""
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = [str(SCRIPT), *arguments]
    code: object = 0
    try:
        main.main()
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
        code = 1
    os._exit(code or 0)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
