"""A warm parent: an interpreter that has imported what programs begin with, and forks containers that need not import it again.

    PYTHON -m shunter SOCKET_FD MODULES [HOLDER_FILE]

Started by ..runtime.warm_parents; it ends with the agent's end of the socket. PYTHON is the interpreter of the containers, with
their environment, as far as anything reads it on import; while it starts it runs this (`warm_hook`). Once it has imported MODULES
(commas between them) it says so on the socket by one line of JSON, see `Imported`. Then it forks for each request (see forking);
the fork is the supervisor of a container, and its fork runs the program. For the next ones both are there beforehand.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypedDict

from shunter.cluster.node.launch import forking, linux, supervisor, user_namespace, warm_program

_SHOWN = 200


class Imported(TypedDict):
    """What a warm parent reports to the agent."""

    problem: str
    """Why it cannot stand for an interpreter that has just started; empty when it can."""
    names: list[str]
    """Variables that Python code read while it was imported."""
    directories: list[str]
    """Where modules are looked for."""


def main(descriptor: int, modules: str, holder_file: str = "") -> bool:
    """Serves requests until the agent is gone, and returns False. In a process that was forked for one, returns True once the
    interpreter is ready to run its program (`warm_program.prepare`)."""
    own = {name: value for name, value in os.environ.items() if name == "LC_CTYPE"}  # the interpreter may have set it
    given = dict(os.environ)
    forking.detach(descriptor)
    # What a container writes beside modules stays in the container: nothing is written here.
    compiles, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    imported = _imported(modules.split(","), holder_file)
    sys.dont_write_bytecode = compiles
    own |= {name: value for name, value in os.environ.items() if given.get(name) != value}
    linux.set_process_name("shunter-warm")
    # Here: in a fork a look at all names takes 3 ms, as it writes to the pages of each.
    own_modules = [name for name in sys.modules if name.partition(".")[0] == "shunter"]
    gc.collect()
    gc.freeze()
    linux.collapse_memory()
    try:
        _serve(socket.socket(fileno=descriptor), imported)
    except warm_program.Program as program:
        started = program.with_traceback(None)
    else:
        return False
    warm_program.prepare(started, own, own_modules)
    return True


def _serve(connection: socket.socket, imported: Imported) -> None:
    names = {name.partition(".")[0] for name in sys.modules}

    def start(spec: dict[str, Any], environment: dict[str, str], report_cold_start: Any) -> str:
        return warm_program.begin(spec, environment, report_cold_start, names)

    def begin(request: dict[str, Any], descriptor: int, spare: supervisor.SpareContainer | None = None) -> None:
        supervisor.supervise(request["directory"], descriptor, start, spare)

    def prepare(channel: socket.socket) -> forking.Begin:
        linux.set_process_name("shunter-spare")
        return partial(begin, spare=supervisor.SpareContainer(start, channel))

    with connection:
        connection.sendall(json.dumps(imported).encode() + b"\n")
        forking.serve(connection, begin, None if imported["problem"] else prepare)


def _imported(modules: list[str], holder_file: str) -> Imported:
    names = set[str]()
    problem = (user_namespace.enter(holder_file) if holder_file else "") or _import(modules, names)
    return Imported(problem=problem, names=sorted(names), directories=[place for place in sys.path if os.path.isabs(place)])


def _import(modules: list[str], names: set[str]) -> str:
    """Imports the modules; returns why this process cannot stand for one that has just started, or nothing. `names` gets the
    variables that were looked up."""
    open_before = _open_files()
    try:
        with _output() as output, _recorded(names):
            for module in modules:
                importlib.import_module(module)
            _find_backend()
    except (ImportError, OSError) as error:  # OSError: a library that is not there
        return str(error)
    if output:
        return f"importing it writes: {output[0]}"
    if left := _open_files() - open_before:
        return f"importing it leaves files open: {', '.join(sorted(left))}"
    if (threads := _threads_after_fork()) > 1:
        return f"importing it starts {threads - 1} thread(s) that a fork would not have"
    return ""


def _find_backend() -> None:
    """Has torch find the backend gloo, for which it looks through the metadata of all installed packages when the first group is
    made (since 2.15): 10 ms a rank. Where that fails, each program gets the error itself."""
    distributed: Any = sys.modules.get("torch.distributed")
    find = getattr(getattr(distributed, "Backend", None), "_ensure_backend_registered", None)
    if find is not None:
        with suppress(Exception):
            find("gloo")


def _open_files() -> set[str]:
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{number} ({os.readlink(f'/proc/self/fd/{number}')})")
        except FileNotFoundError:
            continue  # that of the listing itself
    return found


def _threads_after_fork() -> int:
    """The threads that are left once the process has forked: a pool that is made for it (OpenBLAS's) ends its threads before a
    fork, and starts them again where they are used."""
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return len(os.listdir("/proc/self/task"))


@contextmanager
def _output() -> Iterator[list[str]]:
    """What is written to stdout and stderr meanwhile: its first line, once that is over."""
    written: list[str] = []
    kept = [os.dup(number) for number in (1, 2)]
    file = os.memfd_create("output")
    for number in (1, 2):
        os.dup2(file, number)
    try:
        yield written
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, before in zip((1, 2), kept, strict=True):
            os.dup2(before, number)
            os.close(before)
        if text := os.pread(file, _SHOWN, 0).decode(errors="replace").strip():
            written.append(text.splitlines()[0])
        os.close(file)


@contextmanager
def _recorded(names: set[str]) -> Iterator[None]:
    """Puts the names of variables that are looked up meanwhile, found or not, into `names`."""
    kind: Any = type(os.environ)
    look_up = kind.__getitem__

    def recording(environment: Any, name: Any) -> Any:
        names.add(os.fsdecode(name))
        return look_up(environment, name)

    kind.__getitem__ = recording
    try:
        yield
    finally:
        kind.__getitem__ = look_up
