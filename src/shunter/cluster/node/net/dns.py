"""The DNS server of the pods on this node: UDP and TCP, answers from a zone in memory.

Three things make start-up fast. No question is left without an answer (names we do not know: NXDOMAIN; AAAA: no data; PTR: the
pod's name), because a resolver that waits for a lost answer costs seconds: torch's TCPStore looks up the address of every peer. A
question for a name that a pod is about to get is held back for a moment, so that a pod that waits for a peer learns of it the
instant it is ready instead of at the next attempt. And so is, for less, a question for a pod that starts and in which nothing
listens yet: who connects at once is refused, and torch tries again after half a second only.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from typing import NamedTuple

from shunter.cluster.node.net.names import EMPTY, Zone
from shunter.cluster.node.net.starting_pods import StartingPods

HOLD_SECONDS = 0.9
"""Below the resolver's time-out of 1 s that our resolv.conf sets."""
TTL = 5

_A, _PTR, _AAAA, _ANY = 1, 12, 28, 255
_NO_ERROR, _NAME_ERROR = 0, 3
_HEADER = struct.Struct("!HHHHHH")
_QUESTION_TAIL = struct.Struct("!HH")
_MAX_UDP = 512


class Question(NamedTuple):
    """One question as it was asked: `name` in lower case without the final dot, `raw` as it goes back."""

    identifier: int
    flags: int
    name: str
    type: int
    raw: bytes


class NameServer:
    """Serves the newest zone it was given on one address. `publish` wakes the questions that were held back."""

    def __init__(self, starting: StartingPods | None = None) -> None:
        """`starting` are pods whose addresses are held back while nothing listens in them."""
        self._starting = starting or StartingPods()
        self._zone = EMPTY
        self._changed = asyncio.Event()
        self._transport: asyncio.DatagramTransport | None = None
        self._server: asyncio.Server | None = None
        self._held: set[asyncio.Task[None]] = set()

    def publish(self, zone: Zone) -> None:
        """Answers from this zone from now on; one that equals the last wakes no client."""
        if zone != self._zone:
            self._zone = zone
            self._changed.set()
            self._changed = asyncio.Event()

    async def start(self, udp: socket.socket, tcp: socket.socket) -> None:
        """Serves on these bound sockets (so they may come from another network namespace)."""
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), sock=udp)
        self._server = await asyncio.start_server(self._converse, sock=tcp)

    async def stop(self) -> None:
        """Stops serving; questions that are held back get no answer."""
        if self._transport is not None:
            self._transport.close()
        if self._server is not None:
            self._server.close()
        for task in self._held:
            task.cancel()

    def receive(self, message: bytes, sender: tuple[str, int]) -> None:
        """Answers a datagram, now or when its name appears."""
        assert self._transport is not None
        question = parse(message)
        if question is None:
            return
        if not self._is_expected(question) and not self._awaited(question, sender[0]):
            self._transport.sendto(_fitting(answer(question, self._zone)), sender)
            return
        task = asyncio.ensure_future(self._answer_later(question, sender))
        self._held.add(task)
        task.add_done_callback(self._held.discard)

    async def _answer_later(self, question: Question, sender: tuple[str, int]) -> None:
        await self._hold(question, sender[0])
        assert self._transport is not None
        self._transport.sendto(_fitting(answer(question, self._zone)), sender)

    def _is_expected(self, question: Question) -> bool:
        return question.type in (_A, _ANY) and question.name in self._zone.expected

    def _awaited(self, question: Question, asker: str) -> str:
        """The one address of the name, if it is that of another pod that starts and in which nothing listens; else empty."""
        addresses = self._zone.addresses.get(question.name, ()) if question.type in (_A, _ANY) else ()
        is_held = len(addresses) == 1 and addresses[0] != asker and self._starting.is_awaited(addresses[0], asker)
        return addresses[0] if is_held else ""

    async def _hold(self, question: Question, asker: str) -> None:
        """Waits until the name has an address (or is not expected any more) and something listens there, or time is up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HOLD_SECONDS):
                while self._is_expected(question):
                    await self._changed.wait()
                if address := self._awaited(question, asker):
                    await self._starting.wait(address, asker)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                question = parse(await reader.readexactly(length))
                if question is None:
                    break
                await self._hold(question, writer.get_extra_info("peername")[0])
                reply = answer(question, self._zone)
                writer.write(struct.pack("!H", len(reply)) + reply)
                await writer.drain()
        writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self._server = server

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._server.receive(data, addr)


def parse(message: bytes) -> Question | None:
    """The question of a query message; None for what is none (a response, several questions, garbage)."""
    try:
        identifier, flags, questions, _, _, _ = _HEADER.unpack_from(message)
        if flags & 0x8000 or questions != 1:
            return None
        labels, position = [], _HEADER.size
        while length := message[position]:
            if length > 63:
                return None
            labels.append(message[position + 1 : position + 1 + length].decode("ascii").lower())
            position += 1 + length
        kind, _ = _QUESTION_TAIL.unpack_from(message, position + 1)
    except (struct.error, IndexError, UnicodeDecodeError):
        return None
    return Question(identifier, flags, ".".join(labels), kind, message[_HEADER.size : position + 5])


def answer(question: Question, zone: Zone) -> bytes:
    """The response: authoritative, recursion said to be available so that no resolver looks elsewhere."""
    records: list[bytes] = []
    known = question.name in zone.addresses or question.name in zone.expected
    if question.type in (_A, _ANY):
        records = [_record(_A, socket.inet_aton(address)) for address in zone.addresses.get(question.name, ())]
        known = bool(records)
    elif question.type == _PTR:
        name = zone.names.get(_reversed_address(question.name), "")
        records = [_record(_PTR, _encoded(name))] if name else []
        known = bool(name)
    code = _NO_ERROR if known else _NAME_ERROR
    flags = 0x8480 | (question.flags & 0x7900) | code
    header = _HEADER.pack(question.identifier, flags, 1, len(records), 0, 0)
    return header + question.raw + b"".join(records)


def _record(kind: int, data: bytes) -> bytes:
    # 0xC00C points at the name in the question.
    return struct.pack("!HHHIH", 0xC00C, kind, 1, TTL, len(data)) + data


def _encoded(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _reversed_address(name: str) -> str:
    """`2.0.99.10.in-addr.arpa` -> `10.99.0.2`; empty for anything else."""
    if not name.endswith(".in-addr.arpa"):
        return ""
    return ".".join(reversed(name.removesuffix(".in-addr.arpa").split(".")))


def _fitting(reply: bytes) -> bytes:
    """A reply that is too long for a datagram is cut to its header and question, marked truncated: the asker comes by TCP."""
    if len(reply) <= _MAX_UDP:
        return reply
    identifier, flags, *_ = _HEADER.unpack_from(reply)
    question = reply[_HEADER.size :]
    end = question.index(b"\0") + 5
    return _HEADER.pack(identifier, flags | 0x0200, 1, 0, 0, 0) + question[:end]
