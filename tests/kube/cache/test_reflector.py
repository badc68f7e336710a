"""Reflectors: whatever happens to the connection, the store ends up as the collection is."""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from fault_transport import CutStream, Disconnect, EndStream, FaultTransport, Mangle, Refuse, Silence
from kube.cache.informers import COLLECTION, FAST, RESTING, Eventually, Heard, config_map, names, new_informer, running
from kube.peer import Peer
from shunter.kube.cache.reflector import Timing
from shunter.kube.client import Client
from shunter.kube.transport import Transport


class CountedReads:
    """A transport that counts what streams give at once."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.request = inner.request
        self.close = inner.close
        self.reads = 0

    async def stream(self, method: str, path: str, **options: Any) -> AsyncGenerator[bytes]:
        async with aclosing(self._inner.stream(method, path, **options)) as chunks:
            async for chunk in chunks:
                self.reads += 1
                yield chunk


async def test_changes_during_a_pause_are_read_together_and_none_is_lost(
    peer: Peer, client: Client, eventually: Eventually
) -> None:
    counted = CountedReads(client.transport)
    informer, heard = new_informer(client.through(counted), RESTING), Heard()
    informer.add_handler(heard)
    async with running(informer):
        await peer.put(COLLECTION, config_map("first"))
        await eventually(lambda: heard.words == ["+first"])
        before = counted.reads
        for number in range(100):
            await peer.put(COLLECTION, config_map("a", x=str(number)))
            await peer.remove(COLLECTION, "n", "a")
            await asyncio.sleep(0)
        await peer.put(COLLECTION, config_map("last"))
        await eventually(lambda: names(informer) == ["first", "last"])
    assert heard.words == ["+first", *["+a", "-a"] * 100, "+last"]
    assert counted.reads - before < 20


async def test_nobody_rests_before_all_objects_are_there(peer: Peer, client: Client) -> None:
    for number in range(300):
        await peer.put(COLLECTION, config_map(f"c{number}"))
    informer = new_informer(client, replace(FAST, pause=60.0))
    for _ in range(2):
        async with running(informer):
            assert len(informer.store) == 300
        informer.refresh()


async def test_a_pause_ends_early_where_that_is_asked_for(peer: Peer, client: Client, eventually: Eventually) -> None:
    informer, heard = new_informer(client, replace(FAST, pause=60.0)), Heard()
    informer.add_handler(heard)
    async with running(informer):
        await peer.put(COLLECTION, config_map("a"))
        await asyncio.sleep(0.1)
        informer.end_pause()
        await eventually(lambda: heard.words == ["+a"])
        await peer.put(COLLECTION, config_map("b"))
        await eventually(lambda: heard.words == ["+a", "+b"])


@pytest.mark.usefixtures("any_list")
async def test_a_forgotten_version_lists_again_and_tells_what_was_missed(
    peer: Peer, client: Client, eventually: Eventually
) -> None:
    for name in ("gone", "changed", "same"):
        await peer.put(COLLECTION, config_map(name))
    informer, heard = new_informer(client), Heard()
    async with running(informer):
        informer.add_handler(heard)
        heard.words.clear()
        peer.held.add(COLLECTION)
        await peer.remove(COLLECTION, "n", "gone")
        await peer.put(COLLECTION, config_map("changed", x="1"))
        await peer.put(COLLECTION, config_map("new"))
        peer.forget_history()
        await peer.end_watches()
        await peer.release()
        await eventually(lambda: names(informer) == ["changed", "new", "same"])
    assert sorted(heard.words) == ["+new", "-gone", "~changed"]


async def test_gone_again_and_again_is_no_hot_loop(peer: Peer, client: Client, eventually: Eventually) -> None:
    """kr8s made 1,231 requests in 3 seconds here."""
    peer.has_watch_list = False
    timing = Timing(first_wait=0.05, longest_wait=10.0)
    async with running(new_informer(client, timing)):
        peer.compacted = 10**9
        await peer.end_watches()
        await asyncio.sleep(1.0)
    watches = [params for _, _, params in peer.requests if params.get("watch")]
    assert 2 <= len(watches) <= 8


async def test_a_page_that_expired_restarts_as_one_full_list(peer: Peer, client: Client) -> None:
    peer.has_watch_list = False
    for number in range(501):
        await peer.put(COLLECTION, config_map(f"c{number}"))
    peer.tokens_last = False
    async with running(new_informer(client)) as informer:
        assert len(informer.store) == 501
    lists = [params for method, _, params in peer.requests if method == "GET" and not params.get("watch")]
    assert [params.get("limit") for params in lists] == ["500", "500", None]


async def test_a_line_that_is_no_event_breaks_the_watch_and_nothing_else(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Eventually
) -> None:
    """As a proxy writes that gives up in the middle."""
    faults.inject(Mangle(lambda lines: [b'{"kind": "Status", "status": "Failure", "code": 500}']), method="GET")
    async with running(new_informer(client)) as informer:
        await peer.put(COLLECTION, config_map("a"))
        await eventually(lambda: names(informer) == ["a"])


@pytest.mark.parametrize("fault", [CutStream(1), EndStream(1)], ids=["cut", "ended"])
async def test_a_watch_that_ends_resumes_where_it_stopped(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Eventually, fault: CutStream | EndStream
) -> None:
    peer.has_watch_list = False
    async with running(new_informer(client)) as informer:
        await peer.end_watches()
        faults.inject(fault, path="configmaps")
        for number in range(5):
            await peer.put(COLLECTION, config_map(f"c{number}"))
        await eventually(lambda: len(informer.store) == 5)
    lists = [params for method, _, params in peer.requests if method == "GET" and not params.get("watch")]
    assert len(lists) == 1


async def test_a_silent_connection_is_hung_up_and_resumed(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Eventually
) -> None:
    peer.has_watch_list = False
    timing = Timing(first_wait=0.01, longest_wait=0.05, silence=0.2)
    async with running(new_informer(client, timing)) as informer:
        faults.inject(Silence(0), path="configmaps")
        await peer.end_watches()
        await peer.put(COLLECTION, config_map("a"))
        await eventually(lambda: names(informer) == ["a"])


@pytest.mark.parametrize("fault", [Disconnect(), Refuse(500), Refuse(503), Refuse(429, retry_after=0)], ids=str)
async def test_a_server_that_is_away_is_waited_for(client: Client, faults: FaultTransport, fault: Disconnect | Refuse) -> None:
    faults.inject(fault, times=6)
    async with running(new_informer(client)) as informer:
        assert informer.problem is None


async def test_a_server_that_restarts_is_followed_on(peer: Peer, client: Client, eventually: Eventually) -> None:
    await peer.put(COLLECTION, config_map("a"))
    port = int(peer.url.rpartition(":")[2])
    async with running(new_informer(client)) as informer:
        await peer.stop()
        await eventually(lambda: informer.problem)
        await peer.put(COLLECTION, config_map("b"))
        await peer.start(port)
        await eventually(lambda: names(informer) == ["a", "b"])
        assert informer.problem is None


async def test_a_version_from_the_future_lists_again(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Eventually
) -> None:
    """A server restored from a backup: `Too large resource version`."""
    async with running(new_informer(client)) as informer:
        peer.objects.clear()
        await peer.put(COLLECTION, config_map("restored"))
        faults.inject(Refuse(504, "Timeout", "Too large resource version: 200, current: 7"), path="configmaps")
        await peer.end_watches()
        await eventually(lambda: names(informer) == ["restored"])


async def test_a_kind_that_comes_later_is_waited_for_and_said(
    peer: Peer, client: Client, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    peer.served = set()
    informer = new_informer(client)
    task = asyncio.create_task(informer.run())
    with caplog.at_level(logging.WARNING):
        await eventually(lambda: informer.problem)
    assert informer.is_kind_missing
    assert "Install its CustomResourceDefinition" in caplog.text
    peer.served.add(COLLECTION)
    await asyncio.wait_for(informer.wait_synced(), 5)
    assert informer.problem is None
    task.cancel()


async def test_all_objects_are_there_after_a_hundred_random_faults(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Eventually
) -> None:
    """Sieve in small: every request may fail in any way, the store converges once the faults end."""
    random_faults = random.Random(7)
    choices: list[Any] = [CutStream(1), CutStream(2), EndStream(1), Disconnect(), Refuse(500), Refuse(410), Refuse(429)]
    async with running(new_informer(client)) as informer:
        for round in range(100):
            faults.inject(random_faults.choice(choices), path="configmaps")
            name = f"c{random_faults.randrange(20)}"
            if (COLLECTION, "n", name) in peer.objects and random_faults.random() < 0.4:
                await peer.remove(COLLECTION, "n", name)
            else:
                await peer.put(COLLECTION, config_map(name, round=str(round)))
            if random_faults.random() < 0.1:
                peer.forget_history()
            if random_faults.random() < 0.3:
                await peer.end_watches()
            await asyncio.sleep(0)
        faults.heal()
        await peer.end_watches()
        wanted = sorted((key[2], obj["data"]["round"]) for key, obj in peer.objects.items())
        await eventually(lambda: sorted((o.metadata.name, o.data["round"]) for o in informer.store.list()) == wanted)
