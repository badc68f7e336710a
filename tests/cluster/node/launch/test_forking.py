"""A process that forks for requests has some forks ready; whatever keeps it from that, requests are served."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from shunter.cluster.node.launch.requests import packed

pytestmark = pytest.mark.integration

_SERVER = """
import errno, os, socket, sys
from functools import partial
from shunter.cluster.node.launch import forking

def begin(request, descriptor, how="fork"):
    os.write(descriptor, f"{how} of {os.getppid()}".encode())
    os._exit(0)

def prepare(channel):
    print(os.getpid(), file=sys.stderr, flush=True)
    return partial(begin, how="spare fork")

usual = os.fork, socket.socketpair

def refuse(*_):
    os.fork, socket.socketpair = usual
    raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

CHANGE
with socket.socket(fileno=int(sys.argv[1])) as connection:
    forking.serve(connection, begin, prepare, *ARGUMENTS)
"""


class Server(NamedTuple):
    process: subprocess.Popen[str]
    connection: socket.socket

    def answer(self, **request: str) -> str:
        """Who answers a request, which is sent again where its fork ended without: so does the agent."""
        while True:
            read, write = os.pipe()
            socket.send_fds(self.connection, [packed(request)], [write])
            os.close(write)
            with os.fdopen(read) as file:
                if answer := file.read():
                    return answer

    def line(self) -> str:
        """The next that it or a fork of it writes: each spare fork its number."""
        assert self.process.stderr is not None
        return self.process.stderr.readline().strip()


@contextmanager
def server(change: str = "", arguments: str = "()") -> Iterator[Server]:
    """A process that serves, with those further arguments; `change` is done there first."""
    ours, theirs = socket.socketpair()
    program = [sys.executable, "-c", _SERVER.replace("CHANGE", change).replace("ARGUMENTS", arguments), str(theirs.fileno())]
    with subprocess.Popen(program, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE, text=True) as process, ours:
        theirs.close()
        yield Server(process, ours)
    assert process.returncode == 0


def test_two_forks_are_ready_and_are_replaced_when_they_were_needed() -> None:
    with server() as served:
        spares = [served.line(), served.line()]
        own = f"of {served.process.pid}"
        assert [served.answer() for _ in range(3)] == [f"spare fork {own}", f"spare fork {own}", f"fork {own}"]
        assert {served.line(), served.line()}.isdisjoint(spares)
        assert served.answer() == f"spare fork {own}"


def test_a_spare_fork_that_was_killed_is_passed_over() -> None:
    with server() as served:
        first, _ = served.line(), served.line()
        os.kill(int(first), signal.SIGKILL)
        assert served.answer() == f"spare fork of {served.process.pid}"


def test_descriptors_may_have_any_number() -> None:
    room = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))"
    with server(f"{room}; sys.argv[1] = os.dup2(int(sys.argv[1]), 2000)") as served:
        assert served.line().isdigit()
        assert served.answer().startswith("spare fork")


def test_a_spare_fork_that_is_stopped_ends_with_the_process_that_made_it() -> None:
    with server() as served:
        for spare in (served.line(), served.line()):
            os.kill(int(spare), signal.SIGSTOP)
        served.connection.close()
        assert served.process.stderr is not None
        assert select.select([served.process.stderr], [], [], 20)[0], "somebody still has it"
        assert not served.line()


def test_a_spare_fork_that_has_its_request_outlives_the_process_that_made_it() -> None:
    change = """
def begin(request, descriptor, how="fork"):
    server = os.getppid()
    os.write(descriptor, b"begun, ")
    while os.getppid() == server:
        pass
    os.write(descriptor, b"ended")
    os._exit(0)
"""
    with server(change) as served:
        assert all([served.line(), served.line()])
        read, write = os.pipe()
        socket.send_fds(served.connection, [packed({})], [write])
        os.close(write)
        with os.fdopen(read) as file:
            assert file.read(7) == "begun, "
            served.connection.close()
            assert file.read() == "ended"


@pytest.mark.parametrize("call", ["prepare", "os.fork", "socket.socketpair"])
def test_without_room_for_a_spare_fork_requests_are_served_and_it_is_said(call: str) -> None:
    with server(f"{call} = refuse") as served:
        assert "no process could be made ready for the next one: [Errno 11]" in served.line()
        assert served.answer() == f"fork of {served.process.pid}"


def test_spare_forks_for_some_requests_are_made_after_the_first_of_these_and_take_no_others() -> None:
    with server(arguments="[lambda request: request.get('do') == 'pod']") as served:
        fork, spare = (f"{how} of {served.process.pid}" for how in ("fork", "spare fork"))
        assert [served.answer(do="remove"), served.answer(do="pod")] == [fork, fork]
        assert [served.line().isdigit() for _ in range(2)] == [True, True]
        assert [served.answer(do=what) for what in ("remove", "pod", "remove", "pod", "pod")] == [fork, spare, fork, spare, fork]


def test_a_fork_that_cannot_be_made_ready_begins_what_was_sent_to_it_meanwhile() -> None:
    change = """
def prepare(channel):
    print(os.getpid(), file=sys.stderr, flush=True)
    channel.recv(1, socket.MSG_PEEK)
    raise OSError(errno.ENOSPC, "No space left on device")
"""
    with server(change) as served:
        served.line()
        read, write = os.pipe()
        socket.send_fds(served.connection, [packed({})], [write])
        os.close(write)
        with os.fdopen(read) as file:
            assert file.read() == f"fork of {served.process.pid}"
