"""Port-forward over SPDY: pairs of streams find each other, and every end of a connection reaches the other side."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from cluster.node.streams.spdy_peer import SpdyPeer, connected
from shunter.cluster.node.runtime.launcher_call import LauncherError
from shunter.cluster.node.streams import port_forward
from shunter.cluster.node.streams.port_forward import ForwardedPod, PortForwarding
from shunter.cluster.node.streams.spdy_frames import CANCEL, Data, Frame, Open, Reset

Service = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def forwarding(service: Service) -> AsyncIterator[SpdyPeer]:
    """A client's end of a port-forward to a pod in which this service listens, on every port but 9."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(theirs: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=theirs)
        try:
            await service(reader, writer)
        finally:
            writer.close()

    async def connect(port: int) -> socket.socket:
        if port == 9:
            raise LauncherError("failed to connect to localhost:9 inside the pod, IPv4: Connection refused")
        ours, theirs = socket.socketpair()
        tasks.add(asyncio.create_task(serve(theirs)))
        return ours

    ours, theirs = connected()
    running = asyncio.create_task(PortForwarding(ours, ForwardedPod("p", "uid-1", connect)).run())
    try:
        yield SpdyPeer(theirs)
    finally:
        await theirs.close()
        async with asyncio.timeout(10):
            await running
            await asyncio.gather(*tasks, return_exceptions=True)


def pair(number: int, request: str, port: int = 80) -> tuple[Open, Data, Open]:
    """The two streams of a connection, as kubectl opens them: errors first, and nothing to say there."""
    headers = {"port": str(port), "requestid": request}
    return (
        Open(number, {"streamtype": "error", **headers}),
        Data(number, b"", fin=True),
        Open(number + 2, {"streamtype": "data", **headers}),
    )


def text(received: list[Frame], stream: int) -> bytes:
    return b"".join(frame.data for frame in received if isinstance(frame, Data) and frame.stream == stream)


def has_ended(received: list[Frame], *streams: int) -> bool:
    ended = {frame.stream for frame in received if isinstance(frame, Data) and frame.fin}
    return ended >= set(streams)


async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers every line, until the client has no more."""
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()


async def test_a_connection_carries_bytes_and_ends_when_both_sides_have() -> None:
    async with forwarding(shout) as peer:
        await peer.send(*pair(1, "0"), Data(3, b"hello\n"))
        await peer.until(lambda received: text(received, 3) == b"HELLO\n")
        await peer.send(Data(3, b"bye\n"), Data(3, b"", fin=True))
        await peer.until(lambda received: has_ended(received, 1, 3))
        assert (text(peer.received, 1), text(peer.received, 3)) == (b"", b"HELLO\nBYE\n")


async def test_connections_that_are_opened_criss_cross_find_their_halves() -> None:
    async with forwarding(shout) as peer:
        first, second = pair(1, "a"), pair(3, "b")
        # data of b is 7, data of a is 5: halves in any order.
        await peer.send(first[0], second[0], first[2]._replace(stream=5), second[2]._replace(stream=7))
        await peer.send(Data(7, b"for b\n"), Data(5, b"for a\n"))
        await peer.until(lambda received: text(received, 5) == b"FOR A\n" and text(received, 7) == b"FOR B\n")


async def test_the_pods_end_of_a_connection_reaches_a_client_that_goes_on_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_forward, "_LAST_WORDS_SECONDS", 0.01)

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"welcome, and good bye")

    async with forwarding(greet) as peer:
        await peer.send(*pair(1, "0"), Data(3, b"but"))
        await peer.until(lambda received: has_ended(received, 1, 3))
        assert text(peer.received, 3) == b"welcome, and good bye"


async def test_a_long_answer_is_not_cut_when_the_client_has_nothing_more_to_say() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.read() == b"all I have"
        for _ in range(100):
            writer.write(bytes(50_000))
            await writer.drain()
            await asyncio.sleep(0)

    async with forwarding(answer) as peer:
        await peer.send(*pair(1, "0"), Data(3, b"all I have"), Data(3, b"", fin=True))
        await peer.until(lambda received: has_ended(received, 3))
        assert len(text(peer.received, 3)) == 5_000_000


async def test_a_refused_connection_is_told_on_its_error_stream_and_others_go_on() -> None:
    async with forwarding(shout) as peer:
        await peer.send(*pair(1, "0", port=9), *pair(5, "1"), Data(7, b"fine\n"))
        await peer.until(lambda received: has_ended(received, 1, 3) and text(received, 7) == b"FINE\n")
        why = "failed to connect to localhost:9 inside the pod, IPv4: Connection refused"
        expected = f"error forwarding port 9 to pod p, uid uid-1: failed to execute portforward: {why}"
        assert text(peer.received, 1).decode() == expected


async def test_a_reset_drops_the_pods_connection() -> None:
    ended = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        ended.set()

    async with forwarding(wait) as peer:
        await peer.send(*pair(1, "0"), Data(3, b"x"), Reset(3, CANCEL))
        async with asyncio.timeout(10):
            await ended.wait()


async def test_half_a_connection_is_given_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_forward, "_PAIR_SECONDS", 0.01)
    async with forwarding(shout) as peer:
        await peer.send(pair(1, "7")[0])
        await peer.until(lambda received: has_ended(received, 1))
        assert text(peer.received, 1) == b"request 7: timed out waiting for streams"


async def test_streams_that_make_no_connection_are_reset() -> None:
    async with forwarding(shout) as peer:
        await peer.send(
            Open(1, {}),
            Open(3, {"streamtype": "data", "port": "0"}),
            Open(5, {"streamtype": "data", "port": "http"}),
            Open(7, {"streamtype": "stdin", "port": "80"}),
            *pair(9, "0"),
            Open(13, {"streamtype": "data", "port": "80", "requestid": "0"}),
        )
        await peer.until(lambda received: {f.stream for f in received if isinstance(f, Reset)} == {1, 3, 5, 7, 13})


async def test_fifty_connections_at_a_time_each_get_their_own() -> None:
    async with forwarding(shout) as peer:
        for number in range(50):
            await peer.send(*pair(1 + 4 * number, str(number)), Data(3 + 4 * number, f"number {number}\n".encode()))
        await peer.until(lambda received: all(text(received, 3 + 4 * n) == f"NUMBER {n}\n".encode() for n in range(50)))
