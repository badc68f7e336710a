"""The name server: what it answers, what it leaves unanswered, and how it waits for names."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from cluster.node.net.zones import endpoint, service
from shunter.cluster.node.launch.sockets import bound_sockets
from shunter.cluster.node.net import dns
from shunter.cluster.node.net.dns import NameServer, answer, parse
from shunter.cluster.node.net.names import zone
from shunter.cluster.node.net.starting_pods import StartingPods

A, PTR, AAAA = 1, 12, 28


def query(name: str, kind: int) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


def reply_code_and_records(reply: bytes) -> tuple[int, int]:
    _, flags, _, records, _, _ = struct.unpack_from("!HHHHHH", reply)
    return flags & 0xF, records


ZONE = zone([service("job")], [endpoint(2), endpoint(3)])


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        pytest.param("job.ns.svc.cluster.local", A, (0, 2), id="service"),
        pytest.param("JOB.ns.svc.Cluster.local", A, (0, 2), id="names-have-no-case"),
        pytest.param("job.ns.svc.cluster.local", AAAA, (0, 0), id="no-ipv6-but-the-name-exists"),
        pytest.param("pypi.example", A, (3, 0), id="unknown-name"),
        pytest.param("2.0.1.10.in-addr.arpa", PTR, (0, 1), id="reverse"),
        pytest.param("9.9.9.9.in-addr.arpa", PTR, (3, 0), id="unknown-reverse-is-answered-too"),
    ],
)
def test_answers(name: str, kind: int, expected: tuple[int, int]) -> None:
    question = parse(query(name, kind))
    assert question is not None
    assert reply_code_and_records(answer(question, ZONE)) == expected


@pytest.mark.parametrize(
    "message", [b"", b"\0" * 11, query("a.b", A)[:-3], b"\xff" * 40], ids=["empty", "short", "cut", "response"]
)
def test_garbage_gets_no_answer(message: bytes) -> None:
    assert parse(message) is None


async def ask(address: tuple[str, int], message: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.setblocking(False)
        client.connect(address)
        await loop.sock_sendall(client, message)
        async with asyncio.timeout(5):
            return await loop.sock_recv(client, 2048)


@pytest.mark.integration
async def test_a_question_for_an_expected_name_is_answered_when_it_appears() -> None:
    server = NameServer()
    udp, tcp = bound_sockets("127.0.0.1", 0)
    await server.start(udp, tcp)
    server.publish(zone([service("job")], [endpoint(2, ready=False)]))
    asked = asyncio.create_task(ask(udp.getsockname(), query("p-2.job.ns.svc.cluster.local", A)))
    await asyncio.sleep(0.05)
    assert not asked.done()
    server.publish(ZONE)
    assert reply_code_and_records(await asked) == (0, 1)
    await server.stop()


@pytest.mark.integration
async def test_a_long_answer_is_cut_for_udp_and_whole_by_tcp() -> None:
    server = NameServer()
    udp, tcp = bound_sockets("127.0.0.1", 0)
    address = udp.getsockname()
    await server.start(udp, tcp)
    server.publish(zone([service("job")], [endpoint(number) for number in range(2, 90)]))
    message = query("job.ns.svc.cluster.local", A)
    cut = await ask(address, message)
    assert cut[2] & 0x02
    reader, writer = await asyncio.open_connection(*address)
    writer.write(struct.pack("!H", len(message)) + message)
    (length,) = struct.unpack("!H", await reader.readexactly(2))
    assert reply_code_and_records(await reader.readexactly(length)) == (0, 88)
    writer.close()
    await server.stop()


class Silent(StartingPods):
    """One address, in which nothing listens until the test says so."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address, self.listens = address, asyncio.Event()

    def is_awaited(self, address: str, asker: str) -> bool:
        return address == self._address and not self.listens.is_set()

    async def wait(self, address: str, asker: str) -> None:
        await self.listens.wait()


@pytest.mark.integration
async def test_an_address_is_told_once_something_listens_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns, "HOLD_SECONDS", 1000.0)
    silent = Silent("10.1.0.2")
    server = NameServer(silent)
    udp, tcp = bound_sockets("127.0.0.1", 0)
    await server.start(udp, tcp)
    server.publish(ZONE)
    asked = asyncio.create_task(ask(udp.getsockname(), query("p-2.job.ns.svc.cluster.local", A)))
    for name in ("p-3.job.ns.svc.cluster.local", "job.ns.svc.cluster.local"):
        await ask(udp.getsockname(), query(name, A))
    await ask(udp.getsockname(), query("p-2.job.ns.svc.cluster.local", AAAA))
    assert not asked.done()
    silent.listens.set()
    assert reply_code_and_records(await asked) == (0, 1)
    await server.stop()


@pytest.mark.integration
async def test_an_address_where_nothing_listens_is_told_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns, "HOLD_SECONDS", 0.0)
    server = NameServer(Silent("10.1.0.2"))
    udp, tcp = bound_sockets("127.0.0.1", 0)
    await server.start(udp, tcp)
    server.publish(ZONE)
    assert reply_code_and_records(await ask(udp.getsockname(), query("p-2.job.ns.svc.cluster.local", A))) == (0, 1)
    await server.stop()


@pytest.mark.integration
async def test_a_pod_need_not_listen_to_learn_its_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns, "HOLD_SECONDS", 1000.0)
    server = NameServer(Silent("127.0.0.1"))
    udp, tcp = bound_sockets("127.0.0.1", 0)
    await server.start(udp, tcp)
    server.publish(zone([service("job")], [endpoint(2, address="127.0.0.1")]))
    assert reply_code_and_records(await ask(udp.getsockname(), query("p-2.job.ns.svc.cluster.local", A))) == (0, 1)
    await server.stop()
