"""Those who watch a container: each sees everything, and one who stops looking is not waited for without end."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shunter.cluster.node.launch import attachments
from shunter.cluster.node.launch.attachments import Attachments, attach
from shunter.cluster.node.launch.standard_streams import StandardStreams

MORE_THAN_A_PIPE = b"x" * 200_000


class Supervisor:
    """A supervisor's loop, turned by the test."""

    def __init__(self, directory: Path, *, stdin_once: bool) -> None:
        self.directory = directory
        self.streams = StandardStreams(stdin=True, terminal=False)
        self.attachments = Attachments(str(directory), self.streams, stdin_once=stdin_once)

    def turn(self) -> None:
        poll = select.poll()
        self.attachments.register(poll)
        self.attachments.serve({descriptor for descriptor, _ in poll.poll(0)})

    def is_congested(self) -> bool:
        return self.attachments.is_congested

    def connect(self, *streams: str) -> list[int]:
        """What a client gets; it waits for the supervisor, so the loop turns meanwhile."""
        got: list[list[int]] = []
        thread = threading.Thread(target=lambda: got.append(attach(str(self.directory), list(streams))))
        thread.start()
        while thread.is_alive():
            self.turn()
            thread.join(0.001)
        return got[0]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves time on, as attachments see it."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def forward(seconds: float) -> None:
        now[0] += seconds

    return forward


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: object) -> Supervisor:
    monkeypatch.chdir(tmp_path)  # it changes directories, which only a process of its own may do without a word
    return Supervisor(tmp_path, stdin_once=True)


def test_everybody_sees_the_streams_they_asked_for(supervisor: Supervisor) -> None:
    _, out = supervisor.connect("stdout")
    _, out_too, err = supervisor.connect("stdout", "stderr")
    supervisor.attachments.write("stdout", b"one")
    supervisor.attachments.write("stderr", b"two")
    assert [os.read(descriptor, 9) for descriptor in (out, out_too, err)] == [b"one", b"one", b"two"]


def test_output_waits_for_a_slow_client_and_nothing_is_lost(supervisor: Supervisor) -> None:
    _, out = supervisor.connect("stdout")
    supervisor.attachments.write("stdout", MORE_THAN_A_PIPE)
    assert supervisor.is_congested()
    read = b""
    while supervisor.is_congested():
        read += os.read(out, 50_000)
        supervisor.turn()
    supervisor.attachments.write("stdout", b"the end")
    while len(read) < len(MORE_THAN_A_PIPE) + len(b"the end"):
        read += os.read(out, 50_000)
    assert read == MORE_THAN_A_PIPE + b"the end"


def test_a_client_that_takes_nothing_is_cut_off(supervisor: Supervisor, clock: Callable[[float], None]) -> None:
    _, out = supervisor.connect("stdout")
    supervisor.attachments.write("stdout", MORE_THAN_A_PIPE)
    clock(attachments.STALL_SECONDS - 1)
    supervisor.turn()
    assert supervisor.is_congested()
    clock(2)
    supervisor.turn()
    assert not supervisor.is_congested()
    read = 0
    while data := os.read(out, 50_000):
        read += len(data)
    assert 0 < read < len(MORE_THAN_A_PIPE)


def test_a_client_that_takes_a_little_now_and_then_is_not_cut_off(supervisor: Supervisor, clock: Callable[[float], None]) -> None:
    _, out = supervisor.connect("stdout")
    supervisor.attachments.write("stdout", MORE_THAN_A_PIPE * 4)
    for _ in range(5):
        clock(attachments.STALL_SECONDS - 1)
        os.read(out, 70_000)
        supervisor.turn()
        assert supervisor.is_congested()


def test_a_client_that_left_holds_nobody_back(supervisor: Supervisor) -> None:
    descriptors = supervisor.connect("stdout")
    supervisor.attachments.write("stdout", MORE_THAN_A_PIPE)
    for descriptor in descriptors:
        os.close(descriptor)
    supervisor.turn()
    assert not supervisor.is_congested()
    supervisor.attachments.write("stdout", b"more")


def test_input_ends_with_the_first_who_typed_it_and_not_with_those_who_only_watch(supervisor: Supervisor) -> None:
    watching = supervisor.connect("stdout")
    assert len(watching) == 2, "a client that does not type gets no input, whose end it would keep from the container"
    connection, _, typed = supervisor.connect("stdin", "stdout")
    for descriptor in watching:
        os.close(descriptor)
    supervisor.turn()
    assert supervisor.streams.input >= 0
    os.write(typed, b"words")
    os.close(typed)
    os.write(connection, b".")
    supervisor.turn()
    assert supervisor.streams.input == -1
    container = supervisor.streams._container_ends[0]
    assert [os.read(container, 99), os.read(container, 99)] == [b"words", b""]


def test_clients_that_say_nothing_or_nonsense_harm_nobody(supervisor: Supervisor) -> None:

    for words in (b"", b"\xff" * 100):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
            os.chdir(supervisor.directory)
            stranger.connect("attach")
            stranger.sendall(words)
            supervisor.turn()
            supervisor.turn()
        supervisor.turn()
    _, out = supervisor.connect("stdout")
    supervisor.attachments.write("stdout", b"fine")
    assert os.read(out, 9) == b"fine"
