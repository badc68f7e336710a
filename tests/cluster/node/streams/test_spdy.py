"""The server's end of SPDY: streams kept apart, senders held back, and peers that break the rules shown the door."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from cluster.node.streams.spdy_peer import SpdyPeer, connected
from shunter.cluster.node.streams import spdy
from shunter.cluster.node.streams.spdy import HELD_BYTES, MAX_STREAMS, SpdyConnection, SpdyStream
from shunter.cluster.node.streams.spdy_frames import CANCEL, REFUSED_STREAM, Data, Frame, GoAway, Open, Ping, Reply, Reset


class Served(NamedTuple):
    """A connection that is being served, and the streams it has admitted."""

    peer: SpdyPeer
    connection: SpdyConnection
    streams: list[SpdyStream]
    running: asyncio.Task[None]


@asynccontextmanager
async def served(admit: Callable[[SpdyStream], bool] = lambda _: True) -> AsyncIterator[Served]:
    streams: list[SpdyStream] = []

    def take(stream: SpdyStream) -> bool:
        streams.append(stream)
        return admit(stream)

    ours, theirs = connected()
    connection = SpdyConnection(ours, take)
    running = asyncio.create_task(connection.run())
    try:
        yield Served(SpdyPeer(theirs), connection, streams, running)
    finally:
        await connection.close()
        async with asyncio.timeout(10):
            await running


def count(kind: type) -> Callable[[list[Frame]], int]:
    return lambda received: sum(isinstance(frame, kind) for frame in received)


async def test_a_stream_is_accepted_and_carries_bytes_both_ways() -> None:
    async with served() as (peer, _, streams, _):
        await peer.send(Open(1, {"streamtype": "data"}), Data(1, b"ping"), Data(1, b"", fin=True))
        assert await peer.until(count(Reply)) == [Reply(1, {})]
        assert [await streams[0].read(), await streams[0].read()] == [b"ping", b""]
        await streams[0].write(b"pong")
        await streams[0].finish()
        await peer.until(lambda received: received[-1] == Data(1, b"", fin=True))
        assert peer.received[1] == Data(1, b"pong")


async def test_a_stream_that_nobody_wants_is_reset() -> None:
    async with served(lambda stream: stream.headers.get("port") == "1") as (peer, _, _, _):
        await peer.send(Open(1, {"port": "2"}), Open(3, {"port": "1"}))
        await peer.until(lambda received: Reply(3, {}) in received)
        assert Reset(1, CANCEL) in peer.received


async def test_pings_of_the_client_are_answered_and_others_are_not() -> None:
    async with served() as (peer, _, _, _):
        await peer.send(Ping(2), Ping(1))
        assert await peer.until(count(Ping)) == [Ping(1)]


async def test_a_reset_ends_a_stream_both_ways_and_no_other() -> None:
    async with served() as (peer, _, streams, _):
        await peer.send(Open(1, {}), Open(3, {}), Data(1, b"last words"), Reset(1, CANCEL), Data(3, b"still here"))
        await peer.until(lambda received: count(Reply)(received) == 2)
        assert [await streams[0].read(), await streams[0].read()] == [b"last words", b""]
        assert await streams[1].read() == b"still here"
        try:
            await streams[0].write(b"x")
        except ConnectionError:
            pass
        else:
            raise AssertionError("a stream that was reset takes data")


async def test_the_end_of_the_connection_is_the_end_of_every_stream() -> None:
    async with served() as (peer, _, streams, running):
        await peer.send(Open(1, {}), Data(1, b"abc"))
        await peer.until(count(Reply))
        await peer.stream.close()
        await running
        assert [await streams[0].read(), await streams[0].read()] == [b"abc", b""]


async def test_a_sender_is_held_back_while_nobody_reads() -> None:
    async with served() as (peer, _, streams, _):
        await peer.send(Open(1, {}))
        await peer.until(count(Reply))
        sent = 0
        piece = bytes(16 * 1024)

        async def flood() -> None:
            nonlocal sent
            while sent < 16 * HELD_BYTES:
                await peer.send(Data(1, piece))
                sent += len(piece)

        flooding = asyncio.create_task(flood())
        seen = -1
        while seen != sent:
            seen = sent
            for _ in range(1000):
                await asyncio.sleep(0)
        assert HELD_BYTES <= sent < 2 * HELD_BYTES
        read = 0
        while read < 16 * HELD_BYTES:
            read += len(await streams[0].read())
        await flooding


async def test_what_nobody_wants_any_more_holds_nobody_back() -> None:
    async with served() as (peer, _, streams, _):
        await peer.send(Open(1, {}))
        await peer.until(count(Reply))
        streams[0].inbox.ignore()
        for _ in range(64):
            await peer.send(Data(1, bytes(HELD_BYTES // 16)))
        await peer.send(Ping(1))
        await peer.until(count(Ping))


async def test_a_writer_is_held_back_while_the_client_does_not_read() -> None:
    async with served() as (peer, _, streams, _):
        await peer.send(Open(1, {}))
        await peer.until(count(Reply))
        writing = asyncio.create_task(streams[0].write(bytes(10_000_000)))
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not writing.done()
        assert peer.stream.waiting_bytes < 1_000_000
        await peer.until(lambda received: sum(len(f.data) for f in received if isinstance(f, Data)) == 10_000_000)
        await writing


async def test_streams_beyond_the_limit_are_refused_and_room_is_made_by_those_that_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spdy, "MAX_STREAMS", 2)
    assert MAX_STREAMS > 2
    async with served() as (peer, _, streams, _):
        await peer.send(Open(1, {}), Open(3, {}), Open(5, {}))
        await peer.until(lambda received: Reset(5, REFUSED_STREAM) in received)
        await peer.send(Data(1, b"", fin=True))
        await streams[0].finish()
        await peer.send(Open(7, {}))
        await peer.until(lambda received: Reply(7, {}) in received)


async def test_a_peer_that_breaks_the_protocol_is_told_so_and_left() -> None:
    breaches = {
        "an even stream": [Open(2, {})],
        "a stream twice": [Open(1, {}), Open(1, {})],
        "streams backwards": [Open(5, {}), Open(3, {})],
    }
    for name, breach in breaches.items():
        async with served() as (peer, _, _, running):
            await peer.send(*breach)
            async with asyncio.timeout(10):
                await running
            await peer.until(count(GoAway))
            last = peer.received[-1]
            assert isinstance(last, GoAway), name
            assert last.status == 1, name


async def test_noise_ends_the_connection() -> None:
    async with served() as (peer, _, _, running):
        await peer.stream.write(struct.pack("!II", 0x8003_0001, 0xFFFFFF) + b"x" * 1000)
        async with asyncio.timeout(10):
            await running


async def test_data_for_streams_that_do_not_exist_is_passed_over() -> None:
    async with served() as (peer, _, _, _):
        await peer.send(Data(99, b"lost"), Reset(101, CANCEL), Ping(1))
        await peer.until(count(Ping))
