"""What a server takes, and for how long it waits: so that no client can use up its memory, its descriptors or its time."""

from __future__ import annotations

import resource
from operator import attrgetter
from typing import Generic, NamedTuple, Protocol, TypeVar


class Timeouts(NamedTuple):
    """Seconds for what a client does; then its connection is cut. An answer that takes long, or a stream, is not the client's."""

    head: float = 10.0
    """For a request's first byte to its last header; also for TLS to be agreed on and for the first byte of all."""
    body: float = 60.0
    """From there to the last byte of the body."""
    idle: float = 120.0
    """From an answer to the next request."""
    answer: float = 60.0
    """For the client to read an answer that is there whole."""
    linger: float = 2.0
    """For what is still being sent when the server hangs up: it is read and dropped, else the answer is lost (RFC 9112, 9.6)."""


class Limits(NamedTuple):
    """The limits of one HTTP server."""

    body: int
    """Bytes of a request's body."""
    held: int = 64 * 2**20
    """Bytes of requests that have come and are not answered, of all connections together. Whoever has waited longest with an
    incomplete request makes room."""
    connections: int = 4096
    """At once, but no more than three quarters of the process's descriptors. The longest idle makes room."""


def connections_at_once(limits: Limits) -> int:
    """How many connections a server of this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limits.connections if soft == resource.RLIM_INFINITY else min(limits.connections, soft * 3 // 4)


class LimitedConnection(Protocol):
    """A connection, as far as limits matter."""

    held: int
    """Bytes of requests that have come and are not answered."""
    waiting_since: float
    """When its client was last to act: at the beginning, with the first byte of a request, after an answer."""
    is_answering: bool
    """The server is to act."""

    def abort(self) -> None:
        """Cuts the connection at once, without an answer."""

    def reject_request(self) -> None:
        """Drops what has come of a request that is not complete, and ends the connection after an answer that says so."""


H = TypeVar("H", bound=LimitedConnection)


class ConnectionUsage(Generic[H]):
    """What the connections of one server are and hold together, and who makes room when that is too much."""

    def __init__(self, limits: Limits) -> None:
        self.connections: set[H] = set()
        self.held = 0
        self._limits = limits
        self._most = connections_at_once(limits)

    def add(self, newcomer: H) -> None:
        """Counts a connection; when there are too many, one goes: who has asked nothing for longest, else the newcomer."""
        self.connections.add(newcomer)
        if len(self.connections) > self._most:
            waiting = (one for one in self.connections if not one.is_answering)
            min(waiting, key=attrgetter("waiting_since"), default=newcomer).abort()

    def remove(self, one: H) -> None:
        """Stops counting a connection and the bytes that it holds."""
        self.connections.discard(one)
        self.release(one, one.held)

    def hold(self, one: H, count: int) -> None:
        """Counts bytes that have come; when they are too many, who has waited longest with an incomplete request goes."""
        one.held += count
        self.held += count
        if self.held > self._limits.held:
            for other in sorted(
                (other for other in self.connections if other.held), key=attrgetter("is_answering", "waiting_since")
            ):
                other.reject_request()
                if self.held <= self._limits.held:
                    break

    def release(self, one: H, count: int) -> None:
        """Counts bytes as answered or dropped."""
        one.held -= count
        self.held -= count
