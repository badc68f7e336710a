"""Following container attempts: what the supervisor wrote, as values; live ones by their FIFO, dead ones from their files."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from shunter.api.meta import Json
from shunter.cluster.node.launch import attempt as files
from shunter.cluster.node.pod.containers import STATUS_UNKNOWN, Attempt
from shunter.cluster.node.server.logs import last_lines

_MAX_MESSAGE = 4096
_FALLBACK_LINES = 80
_FALLBACK_BYTES = 2048
_KILLED = 137
_PIPE_BYTES = 65536
"""All that can wait in a FIFO."""


class AttemptWatch:
    """Calls back whenever the attempt's state changed, and when no supervisor runs it any more. Owns the FIFO's read end."""

    def __init__(self, events: int, changed: Callable[[], None]) -> None:
        self._events = events
        self._changed = changed
        self.is_alive = True
        self.reported: Json | None = None
        """The state, where a full disk keeps it from being written."""
        asyncio.get_running_loop().add_reader(events, self._read)

    def close(self) -> None:
        """Stops calling back; the attempt runs on. Does nothing a second time."""
        if self._events >= 0:
            asyncio.get_running_loop().remove_reader(self._events)
            os.close(self._events)
            self._events = -1

    def _read(self) -> None:
        data = os.read(self._events, _PIPE_BYTES)
        if not data:
            self.is_alive = False
            self.close()
        self.reported = files.reported_state(data, self.reported)
        self._changed()


def adopt(directory: Path) -> int | None:
    """The read end of the FIFO of an attempt that an earlier agent started; None when no supervisor runs it, now or ever."""
    try:
        events = os.open(directory / "events", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        alive = bool(os.read(events, _PIPE_BYTES))
    except BlockingIOError:
        alive = True
    if not alive:
        os.close(events)
        return None
    return events


def create(directory: Path, spec: Json) -> None:
    """The files of a new attempt. Raises FileExistsError when it exists: an attempt is never started twice."""
    directory.mkdir(parents=True)
    # The log as well: who cannot have one on a full disk is not started.
    for name in ("termination", "log"):
        (directory / name).touch()
    (directory / "termination").chmod(0o666)  # the container may run as any user
    files.write_json(str(directory / "spec.json"), spec)


def observed(directory: Path, number: int, container: Json, *, alive: bool, reported: Json | None = None) -> Attempt | None:
    """What is known about an attempt, from what was `reported` or else from its file; None when it never ran and never will."""
    state = reported or files.read_json(str(directory / "state.json"))
    identifier = attempt_id(directory)
    if state is None:
        return Attempt(number, identifier) if alive else None
    started, finished = state.get("started_at", 0.0), state.get("finished_at", 0.0)
    cold, warm = state.get("cold", ""), state.get("warm", False)
    if "exit_code" in state:
        reason = _reason(state)
        message = state["error"] if "error" in state else _termination_message(directory, container, state["exit_code"])
        return Attempt(number, identifier, started, finished or started, state["exit_code"], reason, message, cold, warm)
    if alive:
        return Attempt(number, identifier, started, cold=cold, warm=warm)
    # The supervisor was killed; the kernel took its container along.
    return Attempt(
        number,
        identifier,
        started,
        started,
        _KILLED,
        STATUS_UNKNOWN,
        "The container could not be located when the pod was terminated",
    )


def has_ended(directory: Path) -> bool:
    """Whether the supervisor has written how the attempt ended. Known here, on disk, before the worker has seen it."""
    return "exit_code" in (files.read_json(str(directory / "state.json")) or {})


def supervisor(directory: Path) -> int:
    """The process that all processes of a running attempt are below; 0 when it has not started yet."""
    state = files.read_json(str(directory / "state.json")) or {}
    return int(state.get("supervisor", 0))


def attempt_id(directory: Path) -> str:
    """64 hexadecimal digits, like a container runtime's ids."""
    return sha256(str(directory).encode()).hexdigest()


def discard(directory: Path) -> None:
    """Deletes what a finished attempt left."""
    shutil.rmtree(directory, ignore_errors=True)


def discard_root(directory: Path) -> None:
    """Deletes the copy-on-write layer of a finished attempt; its log and state stay."""
    shutil.rmtree(directory / "root", ignore_errors=True)


def _reason(state: Json) -> str:
    if "error" in state:
        return "StartError"
    if state.get("oom_killed"):
        return "OOMKilled"
    return "Completed" if state["exit_code"] == 0 else "Error"


def _termination_message(directory: Path, container: Json, exit_code: int) -> str:
    """terminationMessagePath's content, or the end of the log where the container asks for that."""
    with (directory / "termination").open("rb") as file:
        text = file.read(_MAX_MESSAGE).decode(errors="replace")
    if not text and exit_code != 0 and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
        return last_lines(directory / "log", lines=_FALLBACK_LINES, max_bytes=_FALLBACK_BYTES)
    return text
