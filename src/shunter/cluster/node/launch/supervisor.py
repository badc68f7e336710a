"""The supervisor of one container attempt: starts it, copies its output to the log, writes down how it ended.

It is forked by the launcher and outlives both launcher and agent. It dies with its container and never restarts it: whether
to run again is the agent's decision.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from shunter.cluster.node.launch import attempt, forking, linux, sandbox
from shunter.cluster.node.launch.attachments import Attachments
from shunter.cluster.node.launch.cgroup_files import CgroupFiles
from shunter.cluster.node.launch.executable import execute
from shunter.cluster.node.launch.log_writer import LogWriter
from shunter.cluster.node.launch.standard_streams import StandardStreams, read_output, take_pipes

_CHUNK = 64 * 1024
_ENDS = 3
"""Standard streams."""
_START_ERROR = 128
_NO_ROOM = 75
"""Exit code of what could not become a container because the disk was full; EX_TEMPFAIL of sysexits(3)."""
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
_DRAIN_SECONDS = 0.5
_TERMINAL = {"TERM": "xterm"}
_COLD = b"\0"
"""Before what is said of a container that starts all the same: why it starts cold."""
_CONGESTED_MILLISECONDS = 1000.0
_FULL_DISK_SECONDS = 1.0
_LINUX = sys.platform == "linux"


Start = Callable[[dict[str, Any], dict[str, str], Callable[[str], None]], str]
"""Turns the calling process, which is in its container, into the program of a spec with an environment. Returns only on failure,
with the reason. The last argument is called with why a program that should start warm starts cold."""


class SpareContainer:
    """A fork that waits in a process namespace of its own until the caller supervises a container, and becomes that. It ends when
    the caller does. Raises OSError."""

    def __init__(self, start: Start, foreign: socket.socket) -> None:
        """The fork has nothing of the `foreign` socket."""
        linux.unshare(linux.CLONE_NEWPID)
        self._process, self._channel = forking.fork_with_socket()
        if self._process == 0:
            forking.close(foreign)
            _wait_to_become_container(self._channel, start)

    def become(self, directory: str, streams: StandardStreams, failure: int) -> int:
        """Has it become the container of the attempt in `directory`, whose streams are pipes; returns its process, or 0 where it
        was gone."""
        ends = streams.container_ends
        with self._channel, suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._channel, [os.fsencode(directory)], [*(end for end in ends if end >= 0), failure])
            if self._channel.recv(1):
                return self._process
        return 0


def supervise(directory: str, events: int, start: Start | None = None, spare: SpareContainer | None = None) -> NoReturn:
    """Runs the attempt in `directory` to its end, then exits. `events` is the write end that entitles to run it. The container is
    the `spare` one if there is one, which must have the same `start`; else a fork."""
    os.setsid()
    if _LINUX:
        linux.set_process_name("shunter-super")
        linux.adopt_orphans()
    supervisor = _Supervisor(directory, events, start or _execute_program, spare)
    try:
        supervisor.run()
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL_DISK:
            time.sleep(_FULL_DISK_SECONDS)  # without a state it never ran: the agent tries again
            os._exit(0)
        supervisor.record_end(
            error=f"shunter could not start the container: {traceback.format_exc(limit=-2)}",
            exit_code=_START_ERROR,
            finished_at=time.time(),
        )
    os._exit(0)


class _Supervisor:
    def __init__(self, directory: str, events: int, start: Start, spare: SpareContainer | None) -> None:
        self._directory = directory
        self._events = events
        self._start = start
        self._spare = spare
        self._spec: dict[str, Any] = attempt.read_json(f"{directory}/spec.json")
        self._log = LogWriter(f"{directory}/log")
        self._control = os.open(f"{directory}/control", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._wakeup, wakeup_in = os.pipe()
        os.set_blocking(wakeup_in, False)
        signal.set_wakeup_fd(wakeup_in, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._state: dict[str, Any] = {}
        self._is_recorded = True
        self._tell_at = 0.0
        os.set_blocking(events, False)

    def record(self, **state: Any) -> None:
        """Writes state.json and wakes the agent. Where the disk is full the agent is told what it would read, and `catch_up`
        writes it."""
        self._state.update(state)
        self._is_recorded = False
        self._tell_at = 0.0
        self.catch_up()

    @property
    def is_behind(self) -> bool:
        """Whether a full disk has not taken all of the state and the log yet."""
        return not self._is_recorded or self._log.is_behind

    def catch_up(self) -> None:
        """Writes what a full disk did not take before."""
        self._log.flush()
        if self._is_recorded:
            return
        try:
            attempt.write_json(f"{self._directory}/state.json", self._state)
        except OSError as error:
            if error.errno not in _FULL_DISK:
                raise
            if time.monotonic() >= self._tell_at:  # again and again: the agent may be another one by now
                self._tell_at = time.monotonic() + _FULL_DISK_SECONDS
                self._tell(json.dumps(self._state).encode() + b"\n")
            return
        self._is_recorded = True
        self._tell(b".")

    def _tell(self, message: bytes) -> None:
        with suppress(OSError):  # the agent is gone, or has not read for long; the next one reads the file
            os.write(self._events, message)

    def record_end(self, **state: Any) -> None:
        """As `record`; returns once the disk had room: what has ended well shall not count as lost. Gives up when told to stop
        (the pod is being deleted, maybe to make room), and when the pod is gone."""
        self.record(**state)
        while self.is_behind and os.path.isdir(self._directory):
            poll = select.poll()
            poll.register(self._control, select.POLLIN)
            if poll.poll(_FULL_DISK_SECONDS * 1000):
                return
            self.catch_up()

    def run(self) -> None:
        streams = StandardStreams(stdin=self._spec["stdin"], terminal=self._spec["terminal"])
        attachments = Attachments(self._directory, streams, stdin_once=self._spec["stdin_once"])
        failure, failure_in = os.pipe()
        child = self._container(streams, failure_in)
        if not child:
            return  # without a state it never ran: the agent tries again
        os.close(failure_in)
        error = read_all(failure)
        cold = self._spec.get("cold", "")
        if "warm" in self._spec and self._start is _execute_program:
            cold = "the process that had imported its modules had exited"
        if error.startswith(_COLD):
            why, _, error = error[1:].partition(_COLD)
            cold = why.decode(errors="replace")
        if error:
            _, status = os.waitpid(child, 0)
            if os.waitstatus_to_exitcode(status) == _NO_ROOM:
                # Without a state it never ran: the agent tries again.
                time.sleep(_FULL_DISK_SECONDS)
                return
            self.record_end(error=error.decode(errors="replace"), exit_code=_START_ERROR, finished_at=time.time())
            return
        streams.keep()
        start = {"cold": cold} if cold else {"warm": True} if "warm" in self._spec else {}
        self.record(pid=child, supervisor=os.getpid(), started_at=time.time(), **start)
        status = self._wait(child, streams, attachments)
        self.record_end(finished_at=time.time(), oom_killed=_was_oom_killed(self._spec["oom_files"]), **_ending(status))
        attachments.flush()

    def _container(self, streams: StandardStreams, failure: int) -> int:
        """The process that becomes the container; 0 where the spare one was gone."""
        if self._spare is not None:
            return self._spare.become(self._directory, streams, failure)
        if self._spec["level"] == "namespaces":
            _enter_process_namespace(self._spec.get("shares_processes_of", ""))
        child = os.fork()
        if child == 0:
            _become_container(self._directory, streams.take, failure, self._start)
        return child

    def _wait(self, child: int, streams: StandardStreams, attachments: Attachments) -> int:
        """Serves output, control and clients until the container has ended and its output is drained; returns its wait status."""
        outputs = dict(streams.outputs)
        status: int | None = None
        deadline = 0.0
        while status is None or outputs:
            poll = select.poll()
            for descriptor in (self._control, self._wakeup):
                poll.register(descriptor, select.POLLIN)
            attachments.register(poll)
            held_back = attachments.is_congested and status is None
            for descriptor in () if held_back else outputs:
                poll.register(descriptor, select.POLLIN)
            timeout = _CONGESTED_MILLISECONDS if held_back else _FULL_DISK_SECONDS * 1000 if self.is_behind else None
            if status is not None:
                # Something the container left behind may hold its output open: it gets a moment, not for ever.
                timeout = max(0.0, deadline - time.monotonic()) * 1000
            ready = {descriptor for descriptor, _ in poll.poll(timeout)}
            if not ready and status is not None:
                break
            if self.is_behind:
                self.catch_up()
            for descriptor in ready & outputs.keys():
                stream, chunk = outputs[descriptor], read_output(descriptor, _CHUNK)
                if chunk:
                    self._log.write(stream, chunk)
                    attachments.write(stream, chunk)
                else:
                    del outputs[descriptor]
            if self._control in ready:
                self._obey(child if status is None else 0)
            if self._wakeup in ready:
                os.read(self._wakeup, 512)
                ended = _reap(child)
                if ended is not None:
                    status = ended
                    deadline = time.monotonic() + _DRAIN_SECONDS
                    _kill_descendants()
            attachments.serve(ready)
        self._log.end()
        return status

    def _obey(self, child: int) -> None:
        """Signals the container's first process; what that leaves behind is killed once it has ended."""
        for letter in os.read(self._control, 512):
            if child:
                os.kill(child, signal.SIGKILL if letter == attempt.KILL[0] else signal.SIGTERM)


def _enter_process_namespace(attempt_directory: str) -> None:
    """Children of the calling process are in the process namespace of a running container, or in a new one. Raises OSError."""
    if not attempt_directory:
        linux.unshare(linux.CLONE_NEWPID)
        return
    state = attempt.read_json(f"{attempt_directory}/state.json") or {}
    linux.set_namespace(f"/proc/{state.get('pid', 0)}/ns/pid")


def _wait_to_become_container(channel: socket.socket, start: Start) -> NoReturn:
    linux.die_with_parent(signal.SIGKILL)
    with channel:
        message, descriptors, _, _ = socket.recv_fds(channel, _CHUNK, _ENDS + 1)
        if not message:
            os._exit(0)  # the supervisor is gone, or has found no use for it
        channel.sendall(b".")
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    *ends, failure = descriptors
    take_streams = partial(take_pipes, [-1] * (_ENDS - len(ends)) + ends)
    _become_container(os.fsdecode(message), take_streams, failure, start)


def _become_container(directory: str, take_streams: Callable[[], None], failure: int, start: Start) -> NoReturn:
    """Turns the forked child into the container's process. What goes wrong is written to `failure` in runc's words."""
    code = _START_ERROR
    try:
        with open(f"{directory}/spec.json") as file:
            spec = json.load(file)
        os.setsid()
        signal.set_wakeup_fd(-1)
        process_defaults()
        groups = CgroupFiles(spec["cgroup_files"])
        linux.die_with_parent(signal.SIGKILL)
        os.umask(0o022)
        if spec["level"] == "namespaces":
            sandbox.enter_container(spec, directory)
        else:
            os.makedirs(spec["cwd"], exist_ok=True)
            os.chdir(spec["cwd"])
        take_streams()
        # Last: a container of 0.1 cores would otherwise spend its first quota on our own work.
        groups.join()
        if spec["level"] == "namespaces":
            sandbox.become_user(spec)
            _die_with_supervisor(failure)
        environment = {**_TERMINAL, **spec["env"]} if spec["terminal"] else spec["env"]
        message = start(spec, environment, lambda reason: _say_cold(failure, reason))
        if spec["unknown_program"]:
            message += f". {spec['unknown_program']}"
    except OSError as error:
        message = f"{error.strerror}: {error.filename}" if error.filename else str(error)
        code = _NO_ROOM if error.errno in _FULL_DISK else _START_ERROR
    except Exception:
        message = traceback.format_exc(limit=-2)
    os.write(failure, f"unable to start container process: error during container init: {message}".encode())
    os._exit(code)


def _execute_program(spec: dict[str, Any], environment: dict[str, str], say_cold: Callable[[str], None]) -> str:
    return execute(spec["argv"], environment)


def _say_cold(failure: int, reason: str) -> None:
    os.write(failure, _COLD + reason.encode() + _COLD)


def _die_with_supervisor(failure: int) -> None:
    """Again, after the user changed. One that was killed meanwhile has closed its end of `failure`."""
    linux.die_with_parent(signal.SIGKILL)
    poll = select.poll()
    poll.register(failure, 0)
    if poll.poll(0):
        os.kill(os.getpid(), signal.SIGKILL)


def process_defaults() -> None:
    """As containers start, whatever we were started with. What we or our parents ignore (SIGHUP after `nohup shunter up`) their
    programs would ignore as well, and a shell could not even trap it; what our umask forbids, their other users would miss."""
    os.umask(0o022)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError):  # two are the C library's own
            signal.signal(number, signal.SIG_DFL)


def _reap(child: int) -> int | None:
    """Collects everything that ended; returns the child's wait status if it is among them."""
    found: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = status


def _kill_descendants() -> None:
    """Ends what the container left running. In a pid namespace the kernel did it; elsewhere orphans became our children."""
    if not _LINUX:
        return
    while True:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                orphans = [int(pid) for pid in file.read().split()]
        except FileNotFoundError:
            return
        if not orphans:
            return
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
        for pid in orphans:
            os.waitpid(pid, 0)


def _was_oom_killed(files: list[str]) -> bool:
    """Whether the kernel killed anything of this container's memory cgroup for want of memory."""
    for path in files:
        with open(path) as file:
            for line in file:
                name, _, count = line.partition(" ")
                if name == "oom_kill" and int(count) > 0:
                    return True
    return False


def _ending(status: int) -> dict[str, int]:
    return {"exit_code": exit_code(status), "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}


def exit_code(status: int) -> int:
    """A wait status as shells report it: 128 and the signal's number for what a signal ended."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def read_all(descriptor: int) -> bytes:
    """Everything up to the end of the file, which is then closed."""
    chunks = []
    while chunk := os.read(descriptor, _CHUNK):
        chunks.append(chunk)
    os.close(descriptor)
    return b"".join(chunks)
