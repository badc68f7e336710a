"""One run of one container, as a directory that outlives every process of ours.

spec.json    what to run; written by the agent before it asks the launcher
state.json   what became of it; replaced as a whole by the supervisor at start and at exit
events       FIFO. Only the process that holds its write end may run this attempt: the agent makes the only one and hands it
             to the launcher, which hands it to the supervisor. A dot means "state.json changed", a line of JSON is the content
             that a full disk does not take, end of file means that nothing runs this attempt, now or ever. So a restarted agent
             needs no pid to know what is alive, and nothing runs twice.
control      FIFO of single letters to the supervisor: T (SIGTERM) and K (SIGKILL)
attach       socket of the supervisor, see attachments
log, log.1   output, newest first (CRI log form)
termination  bound to terminationMessagePath
root/        upper and work directories of the container's copy-on-write root
"""

from __future__ import annotations

import json
import os
from typing import Any

TERMINATE = b"T"
KILL = b"K"


def write_json(path: str, value: Any) -> None:
    """Replaces the file as a whole: a reader sees the old or the new content, never a part."""
    temporary = f"{path}.new"
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
        file.write(json.dumps(value))  # json.dump, written in Python, takes three times as long
    os.replace(temporary, path)


def read_json(path: str) -> Any:
    """The content, or None when there is no such file, or it is cut off: a machine that loses its power may leave it empty."""
    try:
        with open(path) as file:
            return json.load(file)
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def reported_state(data: bytes, before: Any) -> Any:
    """The state that counts instead of state.json after `data` was read from `events`; None when the file is right. At the end of
    file nothing is read: what was reported before it stays valid."""
    if not data:
        return before
    if not data.endswith(b"\n"):
        return None
    line = data[:-1].rpartition(b"\n")[2]
    return json.loads(line[line.index(b"{") :])


def send_control(directory: str, letter: bytes) -> bool:
    """Tells the supervisor of an attempt to signal its container; False when no supervisor listens."""
    try:
        descriptor = os.open(f"{directory}/control", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(descriptor, letter)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
