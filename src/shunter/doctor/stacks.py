"""The Python processes of a container, and the programs that they started: parses the output of sampling.sh. Pure."""

from __future__ import annotations

import re
from importlib import resources
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.doctor.evidence import Frame, Process
from shunter.doctor.redaction import short_command

RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "JAX_PROCESS_ID", "PADDLE_TRAINER_ID")
MAIN = "MainThread"
MOST_FRAMES = 64
_LIBRARY = re.compile(r"site-packages|dist-packages|/lib(?:64)?/python\d|^<|^[^/]*$|/bin/torchrun$")
"""Files of the interpreter, of packages, and of no file at all."""
_HEAD = re.compile(r"(\d+) (.+)")
_PROCESS = re.compile(r"(\d+) (\d+) (\S+) (\d+) (\d+)")
"""What follows H, and P or O, in the output of sampling.sh."""


class ContainerSample(NamedTuple):
    """The processes of one container, and why stacks are missing."""

    processes: tuple[Process, ...]
    has_program: bool
    """Whether py-spy was found."""
    fault: str = ""
    """py-spy's message about the first process whose stack it could not read."""
    sockets: dict[int, str] = {}
    """Addresses of torch's worker servers, by the process whose environment names one."""


def script() -> str:
    """The shell script that samples the processes of a container."""
    return resources.files("shunter.doctor").joinpath("sampling.sh").read_text()


def command(program: str, *, is_blocking: bool = True) -> list[str]:
    """The command that samples one container; `program` is py-spy's name or path, empty for none."""
    options = "" if is_blocking else "--nonblocking"
    return ["sh", "-c", f"SPY_OPTIONS='{options}'\n{script()}", "sh", program]


def container_sample(pod: str, container: str, output: str) -> ContainerSample:
    """The sample in the script's output, which may be cut off: lines that are not whole are left out, and so is a process of
    which that is the first."""
    ticks, has_program, fault, is_read = 100, False, "", False
    found: list[Process] = []
    sockets: dict[int, str] = {}
    for line in output[: output.rfind("\n") + 1].splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "H" and (head := _HEAD.fullmatch(rest)):
            ticks, has_program = int(head[1]), head[2] != "none"
        elif kind in ("P", "O"):
            process = _PROCESS.fullmatch(rest)
            is_read = process is not None
            if process is None:
                continue
            pid, parent, state, used, switches = process.groups()
            found.append(
                Process(
                    pod=pod,
                    container=container,
                    pid=int(pid),
                    parent=int(parent),
                    state=state,
                    cpu_seconds=int(used) / ticks,
                    switches=int(switches),
                    is_python=kind == "P",
                )
            )
        elif kind == "E" and is_read:
            name, _, value = rest.partition("=")
            if name in RANKS and value.isdecimal() and found[-1].rank is None:
                found[-1] = msgspec.structs.replace(found[-1], rank=int(value))
            elif name == "TORCH_WORKER_SERVER_SOCKET" and value:
                sockets[found[-1].pid] = value
        elif kind == "G" and is_read:
            found[-1] = msgspec.structs.replace(found[-1], uses_cuda=rest == "1")
        elif kind == "M" and is_read:
            found[-1] = msgspec.structs.replace(found[-1], uses_mpi=True)
        elif kind == "C" and is_read:
            found[-1] = msgspec.structs.replace(found[-1], command=short_command(rest))
        elif kind == "S" and is_read:
            found[-1] = msgspec.structs.replace(found[-1], frames=frames(rest))
        elif kind == "X":
            fault = fault or re.sub(r"\s+", " ", rest).strip()
    return ContainerSample(_of_python(found), has_program, fault, sockets)


def _of_python(found: list[Process]) -> tuple[Process, ...]:
    """The Python processes, and the other programs that descend from one: not the shell that sampled them, nor that which
    started the program."""
    by_pid = {one.pid: one for one in found}

    def is_kept(one: Process) -> bool:
        passed: set[int] = set()
        above: Process | None = one
        while above is not None and not above.is_python and above.pid not in passed:
            passed.add(above.pid)
            above = by_pid.get(above.parent)
        return above is not None and above.is_python

    return tuple(one for one in found if is_kept(one))


def frames(dump: str) -> tuple[Frame, ...]:
    """The main thread's calls in the output of `py-spy dump --json`, innermost first; empty if it is not JSON. If it waits for
    other threads at the end of the program, the calls of the first of these that runs the program stand before its own."""
    try:
        threads = msgspec.json.decode(dump)
    except (msgspec.DecodeError, RecursionError):
        return ()
    main = next((one for one in threads if one.get("thread_name") == MAIN), threads[0] if threads else {"frames": []})
    found = _frames(main)
    if any(frame.function == "_shutdown" and frame.file.endswith("threading.py") for frame in found):
        others = (_frames(one) for one in threads if one is not main)
        awaited = next((frames for frames in others if any(frame.is_own for frame in frames)), ())
        return (*awaited, *found)
    return found


def _frames(thread: Json) -> tuple[Frame, ...]:
    return tuple(
        Frame(
            function=one.get("name") or "?",
            file=one.get("short_filename") or one.get("filename") or "?",
            line=one.get("line") or 0,
            is_own=not _LIBRARY.search(one.get("filename") or "<"),
        )
        for one in thread["frames"][:MOST_FRAMES]
    )
