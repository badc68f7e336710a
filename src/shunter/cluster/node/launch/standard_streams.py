"""A container's standard streams, from both sides of the fork: pipes, or a terminal of its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable


class StandardStreams:
    """Made before the fork; then the container's process calls `take`, the supervisor `keep`."""

    def __init__(self, *, stdin: bool, terminal: bool) -> None:
        self.has_terminal = terminal
        self.outputs: dict[int, str] = {}
        """What the container writes: descriptors to read from, and whether they are stdout or stderr."""
        self.input = -1
        """Where to write what the container reads; -1 when it reads nothing. With a terminal always its master."""
        if terminal:
            self._ours, self._theirs = socket.socketpair()
            return
        out, out_in = os.pipe()
        err, err_in = os.pipe()
        self.outputs = {out: "stdout", err: "stderr"}
        reading = -1
        if stdin:
            reading, self.input = os.pipe()
        self._container_ends = (reading, out_in, err_in)

    def take(self) -> None:
        """Makes them 0, 1 and 2 of the calling process, which is in its container already: a terminal must be one of its own."""
        if self.has_terminal:
            master, slave = os.openpty()
            socket.send_fds(self._theirs, [b" "], [master])
            os.login_tty(slave)
            return
        take_pipes(self._container_ends)

    @property
    def container_ends(self) -> tuple[int, int, int]:
        """The pipe ends that `take_pipes` takes in the process that receives them; -1 if it reads nothing."""
        return self._container_ends

    def keep(self) -> None:
        """Lets go of the container's ends, and takes its terminal in, in the parent, once the container has started."""
        if self.has_terminal:
            self._theirs.close()
            with self._ours:
                _, (self.input,), _, _ = socket.recv_fds(self._ours, 1, 1)
            os.set_inheritable(self.input, False)
            self.outputs = {self.input: "stdout"}
            return
        for descriptor in self._container_ends:
            if descriptor >= 0:
                os.close(descriptor)


def take_pipes(ends: Iterable[int]) -> None:
    """Makes them 0, 1 and 2 of the calling process, with nothing to read in place of -1."""
    for number, descriptor in enumerate(ends):
        os.dup2(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC) if descriptor < 0 else descriptor, number)


def read_output(descriptor: int, size: int) -> bytes:
    """What the container wrote; empty at the end, which a terminal reports as an error (EIO)."""
    try:
        return os.read(descriptor, size)
    except OSError:
        return b""
