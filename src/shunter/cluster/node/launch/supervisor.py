"""The supervisor of one container attempt: starts it, copies its output to the log, records how it ended.

It is forked by the launcher and outlives both launcher and agent. It ends with its container and never restarts it: that is the
agent's decision.
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
"""Exit code when a container could not start because the disk was full; EX_TEMPFAIL of sysexits(3)."""
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
_DRAIN_SECONDS = 0.5
_TERMINAL = {"TERM": "xterm"}
_COLD = b"\0"
"""Encloses the reason why a container starts cold, which is no failure."""
_CONGESTED_MILLISECONDS = 1000.0
_FULL_DISK_SECONDS = 1.0
_LINUX = sys.platform == "linux"


Start = Callable[[dict[str, Any], dict[str, str], Callable[[str], None]], str]
"""Turns the calling process, which is in its container already, into the program of a spec with an environment. Returns only on
failure, with the reason. The last argument is called with the reason when a program that should start warm starts cold."""


class SpareContainer:
    """A fork that waits in its own process namespace until it becomes the container that the caller supervises. It ends when the
    caller does. Raises OSError."""

    def __init__(self, start: Start, foreign: socket.socket) -> None:
        """Makes the fork, and closes the `foreign` socket in it."""
        linux.unshare(linux.CLONE_NEWPID)
        self._process, self._channel = forking.fork_with_socket()
        if self._process == 0:
            forking.close(foreign)
            _wait_to_become_container(self._channel, start)

    def become(self, directory: str, streams: StandardStreams, failure: int) -> int:
        """Turns the fork into the container of the attempt in `directory`, whose streams are pipes. Returns its process ID, or 0
        when it had ended already."""
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
        """Writes state.json and wakes the agent. On a full disk it sends the content to the agent instead, and `catch_up` writes
        it later."""
        self._state.update(state)
        self._is_recorded = False
        self._tell_at = 0.0
        self.catch_up()

    @property
    def is_behind(self) -> bool:
        """Whether part of the state or the log is not written yet because the disk is full."""
        return not self._is_recorded or self._log.is_behind

    def catch_up(self) -> None:
        """Writes what could not be written before because the disk was full."""
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
                self._notify_agent(json.dumps(self._state).encode() + b"\n")
            return
        self._is_recorded = True
        self._notify_agent(b".")

    def _notify_agent(self, message: bytes) -> None:
        with suppress(OSError):  # the agent is gone, or has not read for long; the next one reads the file
            os.write(self._events, message)

    def record_end(self, **state: Any) -> None:
        """Like `record`, but returns once the state is on disk, so that a container that succeeded does not count as lost. Gives
        up when a signal to stop arrives (the pod is being deleted, maybe to free space), and when the pod is gone."""
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
        """The ID of the process that becomes the container; 0 when the spare one had ended already."""
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
                # A process that the container left behind may hold its output open: wait for it for a limited time only.
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
                self._pass_on_signals(child if status is None else 0)
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

    def _pass_on_signals(self, child: int) -> None:
        """Sends the requested signals to the container's first process; processes it leaves behind are killed once it has
        ended."""
        for letter in os.read(self._control, 512):
            if child:
                os.kill(child, signal.SIGKILL if letter == attempt.KILL[0] else signal.SIGTERM)


def _enter_process_namespace(attempt_directory: str) -> None:
    """Puts future children of the calling process into the process namespace of a running container, or into a new one. Raises
    OSError."""
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
    """Turns the forked child into the container's process. Writes errors to `failure` in runc's words."""
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
        message = start(spec, environment, lambda reason: _report_cold_start(failure, reason))
        if spec["unknown_program"]:
            message += f". {spec['unknown_program']}"
    except OSError as error:
        message = f"{error.strerror}: {error.filename}" if error.filename else str(error)
        code = _NO_ROOM if error.errno in _FULL_DISK else _START_ERROR
    except Exception:
        message = traceback.format_exc(limit=-2)
    os.write(failure, f"unable to start container process: error during container init: {message}".encode())
    os._exit(code)


def _execute_program(spec: dict[str, Any], environment: dict[str, str], report_cold_start: Callable[[str], None]) -> str:
    return execute(spec["argv"], environment)


def _report_cold_start(failure: int, reason: str) -> None:
    os.write(failure, _COLD + reason.encode() + _COLD)


def _die_with_supervisor(failure: int) -> None:
    """Sets the signal on the parent's death again, as a change of user clears it. A supervisor that was killed meanwhile has
    closed its end of `failure`."""
    linux.die_with_parent(signal.SIGKILL)
    poll = select.poll()
    poll.register(failure, 0)
    if poll.poll(0):
        os.kill(os.getpid(), signal.SIGKILL)


def process_defaults() -> None:
    """Resets signal handling and umask to the defaults that containers start with. Programs would inherit ignored signals (SIGHUP
    after `nohup shunter up`), which a shell could not even trap, and a strict umask would hide files from a container's other
    users."""
    os.umask(0o022)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError):  # two are the C library's own
            signal.signal(number, signal.SIG_DFL)


def _reap(child: int) -> int | None:
    """Reaps all ended processes; returns the child's wait status if it is among them."""
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
    """Kills the processes that the container left running. In a PID namespace the kernel has done so; elsewhere the orphans have
    become our children."""
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
    """Whether the kernel's OOM killer killed a process of this container's memory cgroup."""
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
