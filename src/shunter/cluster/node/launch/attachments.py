"""Clients that read a container's output and write its input while it runs, as `kubectl attach` does.

The supervisor listens on the socket `attach` in the attempt's directory. A client sends one byte, the set of streams it wants,
with a pipe for each output among them, and receives one byte, with the container's input attached if it asked for that. From then
on the connection only shows that the client is still there; a further byte means the end of the input. A slow client blocks the
container, as a pipe does, but only for a limited time: a training job must not stop because of an abandoned terminal.
"""

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import suppress

from shunter.cluster.node.launch.standard_streams import StandardStreams

STALL_SECONDS = 10.0
"""A client that reads nothing for this long is disconnected."""
_SOCKET = "attach"
_STREAMS = ("stdin", "stdout", "stderr")


class _Client:
    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.pipes: dict[str, int] = {}
        self.pending: dict[str, bytes] = {}
        self.took_at = 0.0
        """When the client last read something, or had nothing to read."""
        self.is_attached = False
        self.types = False

    def write(self, stream: str, chunk: bytes) -> None:
        """Sends what fits into the pipe and buffers the rest. Raises OSError when the client is gone."""
        waiting = self.pending.pop(stream, b"")
        pending, written = waiting + chunk, 0
        with suppress(BlockingIOError):
            written = os.write(self.pipes[stream], pending)
        if written or not waiting:
            self.took_at = time.monotonic()
        if written < len(pending):
            self.pending[stream] = pending[written:]

    def close(self) -> None:
        self.connection.close()
        for descriptor in self.pipes.values():
            os.close(descriptor)
        self.pipes.clear()
        self.pending.clear()


class Attachments:
    """The attached clients of one container. Owned by its supervisor's loop, which never blocks on a client."""

    def __init__(self, directory: str, streams: StandardStreams, *, stdin_once: bool) -> None:
        self._streams = streams
        self._stdin_once = stdin_once and not streams.has_terminal
        self._clients: dict[int, _Client] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.setblocking(False)
        # Bound by its short name: the path of a socket may have 107 characters only.
        os.chdir(directory)
        self._listener.bind(_SOCKET)
        self._listener.listen()
        os.chdir("/")

    @property
    def is_congested(self) -> bool:
        """Whether a client has to read output before more may be added."""
        return any(client.pending for client in self._clients.values())

    def register(self, poll: select.poll) -> None:
        """Registers the descriptors to wait for."""
        poll.register(self._listener, select.POLLIN)
        for descriptor, client in self._clients.items():
            poll.register(descriptor, select.POLLIN)
            for stream in client.pending:
                poll.register(client.pipes[stream], select.POLLOUT)

    def serve(self, ready: set[int]) -> None:
        """Handles the descriptors that are ready, without blocking."""
        if self._listener.fileno() in ready:
            with suppress(BlockingIOError):
                connection, _ = self._listener.accept()
                self._clients[connection.fileno()] = _Client(connection)
        for descriptor in ready & self._clients.keys():
            self._read_client(descriptor)
        for client in list(self._clients.values()):
            for stream in [stream for stream in client.pending if client.pipes[stream] in ready]:
                self._write(client, stream, b"")
            if client.pending and time.monotonic() - client.took_at > STALL_SECONDS:
                self._drop(client)

    def write(self, stream: str, chunk: bytes) -> None:
        """Sends output of the container to all clients that asked for the stream."""
        for client in list(self._clients.values()):
            if stream in client.pipes:
                self._write(client, stream, chunk)

    def flush(self) -> None:
        """Waits until each client has read all output, or was disconnected."""
        while self.is_congested:
            poll = select.poll()
            self.register(poll)
            self.serve({descriptor for descriptor, _ in poll.poll(1000)})

    def _write(self, client: _Client, stream: str, chunk: bytes) -> None:
        try:
            client.write(stream, chunk)
        except OSError:
            self._drop(client)

    def _read_client(self, descriptor: int) -> None:
        client = self._clients[descriptor]
        try:
            data, descriptors, _, _ = socket.recv_fds(client.connection, 1, len(_STREAMS))
            if data and not client.is_attached:
                self._attach(client, data[0], descriptors)
                return
        except OSError:
            data = b""
        if client.types and self._stdin_once and self._streams.input >= 0:
            os.close(self._streams.input)
            self._streams.input = -1
        if not data:
            self._drop(client)

    def _attach(self, client: _Client, wanted: int, descriptors: list[int]) -> None:
        client.is_attached = True
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
            os.set_blocking(descriptor, False)
        outputs = [name for bit, name in enumerate(_STREAMS) if wanted >> bit & 1 and name != "stdin"]
        client.types = bool(wanted & 1)
        client.pipes = dict(zip(outputs, descriptors, strict=False))
        if len(outputs) != len(descriptors):
            self._drop(client)
            return
        # Only this client holds it: the container sees the end of its input once no process has it open.
        if self._streams.input >= 0 and (client.types or self._streams.has_terminal):
            socket.send_fds(client.connection, [b" "], [self._streams.input])
        else:
            client.connection.sendall(b" ")

    def _drop(self, client: _Client) -> None:
        self._clients.pop(client.connection.fileno(), None)
        client.close()


def attach(directory: str, streams: list[str]) -> list[int]:
    """Attaches to the container of the attempt in `directory`.

    Returns a connection that lasts as long as the attachment (a byte on it ends the input), a pipe for each of stdout and stderr
    in `streams`, and the container's input, if it wants it and there is one. Raises OSError when there is no such container.
    """
    os.chdir(directory)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(_SOCKET)
    pipes = [os.pipe() for name in _STREAMS if name in streams and name != "stdin"]
    wanted = sum(1 << bit for bit, name in enumerate(_STREAMS) if name in streams)
    socket.send_fds(connection, [bytes([wanted])], [writing for _, writing in pipes])
    for _, writing in pipes:
        os.close(writing)
    answer, received, _, _ = socket.recv_fds(connection, 1, 1)
    if not answer:
        raise ConnectionResetError("the container has ended")
    return [connection.detach(), *(reading for reading, _ in pipes), *received]
