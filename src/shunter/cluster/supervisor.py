"""Keeps the three processes of an embedded cluster alive. Run by path with `python -I -S`: the standard library and
file_locks.py only, about 10 MB.

    supervisor.py STATE_DIR < STATE_DIR/start.lock

Standard input is locked by who started it, and closed once STATE_DIR/cluster.json says who it is: no other start or stop goes on
before.
Reads STATE_DIR/launch.json, takes STATE_DIR/lock, starts the children, starts one again when it dies, and writes
STATE_DIR/cluster.json whenever something changes. SIGUSR1 starts children that were added to launch.json since. SIGTERM or
SIGINT stops the children in reverse order and runs the teardown command. Within a minute after STATE_DIR was removed the children
are stopped too, and nothing is written there. When the supervisor itself is killed, the kernel sends the children SIGTERM
(PR_SET_PDEATHSIG); pods run on and the next start adopts them.
"""

import contextlib
import ctypes
import functools
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

if __name__ == "__main__":  # run by path, the package is not on the way
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from shunter.file_locks import take

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 15.0
"""How long a child may take to end after SIGTERM: pods get their grace period from `down` before that."""
LOG_LIMIT = 16 * 1024 * 1024
LOG_KEPT = 4 * 1024 * 1024
"""What is kept of a log that has grown beyond the limit: the newest."""
LOOK_SECONDS = 60.0
"""How often logs are looked at."""
RECORD_RETRY_SECONDS = 1.0


def main(state_dir: str) -> int:
    """The exit status: 1 when another supervisor has the lock, else 0 once this one was stopped or the directory is gone."""
    with open(os.path.join(state_dir, "lock"), "ab") as lock:
        if not take(lock):
            print(f"another supervisor runs on {state_dir}", file=sys.stderr)
            return 1
        return supervise(state_dir, lock.fileno())


def is_of(lock: int, state_dir: str) -> bool:
    """Whether the lock was taken in the directory that is there now: the directory may have been removed, or made again."""
    try:
        found = os.stat(os.path.join(state_dir, "lock"))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # unknown for now
        return True
    return os.path.samestat(found, os.fstat(lock))


def supervise(state_dir: str, lock: int) -> int:
    """Returns 0 once it was stopped or the state directory is gone; in the first case after the teardown."""
    signals = [signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1]
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    launch = described(state_dir)
    children = [Child(spec, state_dir) for spec in launch["children"]]
    for child in children:
        child.start()
    is_recorded = recorded(state_dir, launch, children)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    while True:
        due = [child.restart_at for child in children if child.process is None]
        timeout = max(0.0, min(due) - time.monotonic()) if due else LOOK_SECONDS
        if not is_recorded:
            timeout = min(timeout, RECORD_RETRY_SECONDS)
        received = signal.sigtimedwait(signals, timeout)
        if received is not None and received.si_signo not in (signal.SIGCHLD, signal.SIGUSR1):
            break
        if not is_of(lock, state_dir):
            stop(children)
            return 0
        if received is not None and received.si_signo == signal.SIGUSR1:
            children = with_added(children, state_dir)
        for child in children:
            child.supervise()
        is_recorded = recorded(state_dir, launch, children)
    stop(children)
    if launch.get("teardown"):
        with open(os.path.join(state_dir, "logs", "agent.log"), "ab") as log:
            subprocess.run(launch["teardown"], stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=False, preexec_fn=unblock)
    with contextlib.suppress(FileNotFoundError):  # the disk was full all the time
        os.unlink(os.path.join(state_dir, "cluster.json"))
    return 0


def stop(children: list["Child"]) -> None:
    """In reverse order: what depends on others goes first."""
    for child in reversed(children):
        child.stop()


def described(state_dir: str) -> dict[str, Any]:
    """What is to be started."""
    with open(os.path.join(state_dir, "launch.json"), encoding="utf-8") as handle:
        found: dict[str, Any] = json.load(handle)
    return found


def with_added(children: list["Child"], state_dir: str) -> list["Child"]:
    """The children in the order of launch.json, with those that were added to it, which are started next."""
    known = {child.name: child for child in children}
    return [known.get(spec["name"]) or Child(spec, state_dir) for spec in described(state_dir)["children"]]


class Child:
    """One process of the cluster: started, watched, started again with a delay that doubles while it keeps dying."""

    def __init__(self, spec: dict[str, Any], state_dir: str) -> None:
        self.name: str = spec["name"]
        self.argv: list[str] = spec["argv"]
        self.ends_as_group: bool = spec.get("ends_as_group", False)
        self.log_path = os.path.join(state_dir, "logs", f"{self.name}.log")
        self.process: subprocess.Popen[bytes] | None = None
        self.restarts = 0
        self.restart_at = 0.0
        self.started_at = 0.0
        self.delay = 0.1
        self.noted = ""

    def start(self) -> None:
        """Starts the process, which appends to its log. Raises OSError when it cannot be started."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=functools.partial(die_with, os.getpid())
            )
        self.started_at, self.noted = time.monotonic(), ""

    def supervise(self) -> None:
        """Shortens its log, and starts it again when it has died: after 0.1 s if it had run for more than 10 s, otherwise after
        twice the last delay, up to 5 s."""
        now = time.monotonic()
        shorten(self.log_path)
        if self.process is not None and self.process.poll() is not None:
            self.end_group(self.process.pid)
            self.delay = 0.1 if now - self.started_at > 10 else min(self.delay * 2, 5.0)
            self.process, self.restart_at = None, now + self.delay
            self.restarts += 1
        if self.process is None and now >= self.restart_at:
            try:
                self.start()
            except OSError as error:  # no memory or no process left: that may pass
                self.note(f"{self.name} could not be started, trying again: {error}\n")
                self.delay = min(self.delay * 2, 5.0)
                self.restart_at = now + self.delay

    def note(self, line: str) -> None:
        """Writes a line into the log of the process, unless it is the last that was written so."""
        if line != self.noted:
            with contextlib.suppress(OSError), open(self.log_path, "a", encoding="utf-8") as log:
                log.write(line)
                self.noted = line

    def stop(self) -> None:
        """Sends SIGTERM, after STOP_SECONDS SIGKILL, and returns when the process has ended; nothing happens if none runs."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.end_group(self.process.pid)

    def end_group(self, group: int) -> None:
        """Kills what a child that is gone has left behind, if it is one that must leave nothing: every child has a session."""
        if self.ends_as_group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def unblock() -> None:
    """Lets signals through again: a child inherits the mask with which the supervisor waits for its own."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def die_with(supervisor: int) -> None:
    """In the child, before exec: the default signal mask, an own session (Ctrl-C in a terminal is ours to forward), and
    SIGTERM when the supervisor dies."""
    unblock()
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != supervisor:  # it died between fork and prctl: nothing would ever stop us
            os._exit(1)


def recorded(state_dir: str, launch: dict[str, Any], children: list[Child]) -> bool:
    """Writes cluster.json if it says something else; False where that is not possible now (a full disk): what runs is more than
    what is said of it, but a process that is gone should not be shown."""
    record = dict(launch["record"])
    record["supervisor"] = os.getpid()
    record["children"] = {child.name: child.process.pid for child in children if child.process}
    record["restarts"] = {child.name: child.restarts for child in children}
    path = os.path.join(state_dir, "cluster.json")
    content = json.dumps(record)
    try:
        if os.path.exists(path) and read(path) == content:
            return True
        with open(path + ".new", "w", encoding="utf-8") as handle:
            handle.write(content)
        os.replace(path + ".new", path)
    except OSError:
        return False
    return True


def read(path: str) -> str:
    """The text of a file in UTF-8. Raises OSError."""
    with open(path, encoding="utf-8") as handle:
        return handle.read()


def shorten(path: str) -> None:
    """Keeps a log that its writers append to from filling the disk; needs no room itself. Lines that are written in this very
    moment may be lost."""
    with contextlib.suppress(OSError), open(path, "r+b") as log:
        if log.seek(0, os.SEEK_END) <= LOG_LIMIT:
            return
        log.seek(-LOG_KEPT, os.SEEK_END)
        kept = log.read().partition(b"\n")[2]
        log.truncate(0)
        with open(path, "ab") as again:
            again.write(kept)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
