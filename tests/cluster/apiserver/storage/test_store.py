"""What the store promises: order, visibility, durability, and a bounded past."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from cluster.api_server import start_api_server
from shunter.cluster.apiserver.storage import store as storage
from shunter.cluster.apiserver.storage.store import Entry, Event, ExpiredError, StaleError, Store


def config_map(name: str, namespace: str = "default", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"}, "data": data}


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(tmp_path / "cluster.sqlite3")
    store.start()
    yield store
    store.close()


async def test_a_write_is_visible_once_it_is_acknowledged(store: Store) -> None:
    maps = store.collection("", "configmaps")
    writing = asyncio.ensure_future(store.write(maps, config_map("a"), previous=None, durable=True))
    await asyncio.sleep(0)
    assert maps.get("default", "a") is None
    assert maps.head("default", "a") is not None
    entry = await writing
    assert maps.get("default", "a") is entry
    assert store.revision == entry.revision


async def test_what_was_accepted_is_visible_when_the_store_has_settled(store: Store) -> None:
    maps = store.collection("", "configmaps")
    await store.settled()
    writing = asyncio.ensure_future(store.write(maps, config_map("a"), previous=None, durable=True))
    await asyncio.sleep(0)
    await store.settled()
    assert maps.get("default", "a") is await writing


async def test_revisions_grow_by_one_over_all_collections(store: Store) -> None:
    writes = [
        store.write(store.collection("", plural), config_map(f"a{i}"), previous=None, durable=durable)
        for i in range(5)
        for plural, durable in (("configmaps", True), ("leases", False))
    ]
    entries = await asyncio.gather(*writes)
    first = entries[0].revision
    assert [entry.revision for entry in entries] == list(range(first, first + 10))
    assert store.revision == first + 9


async def test_events_are_published_in_the_order_of_revisions(store: Store) -> None:
    seen: list[int] = []
    for plural in ("configmaps", "leases"):
        store.collection("", plural).listeners.add(lambda events: seen.extend(e.entry.revision for e in events))
    await asyncio.gather(
        *(
            store.write(store.collection("", plural), config_map(f"a{i}"), previous=None, durable=plural == "configmaps")
            for i in range(50)
            for plural in ("configmaps", "leases")
        )
    )
    for plural in ("configmaps", "leases"):
        revisions = [event.entry.revision for event in store.collection("", plural).since(storage_floor(store))]
        assert revisions == sorted(revisions)
    assert len(seen) == 100


def storage_floor(store: Store) -> int:
    return store.collection("", "configmaps").floor


async def test_a_write_on_an_old_version_is_refused(store: Store) -> None:
    maps = store.collection("", "configmaps")
    first = await store.write(maps, config_map("a"), previous=None, durable=True)
    with pytest.raises(StaleError):
        await store.write(maps, config_map("a"), previous=None, durable=True)
    second = asyncio.ensure_future(store.write(maps, config_map("a", x="1"), previous=first, durable=True))
    await asyncio.sleep(0)
    with pytest.raises(StaleError):
        await store.write(maps, config_map("a", x="2"), previous=first, durable=True)
    await second


async def test_writes_can_build_on_one_that_is_not_committed_yet(store: Store) -> None:
    maps = store.collection("", "configmaps")
    pending = [asyncio.ensure_future(store.write(maps, config_map("a"), previous=None, durable=True))]
    for i in range(20):
        await asyncio.sleep(0)
        head = maps.head("default", "a")
        pending.append(asyncio.ensure_future(store.write(maps, config_map("a", x=str(i)), previous=head, durable=True)))
    await asyncio.gather(*pending)
    entry = maps.get("default", "a")
    assert entry is not None
    assert entry.document()["data"] == {"x": "19"}


async def test_a_past_list_is_the_list_of_that_moment(store: Store) -> None:
    maps = store.collection("", "configmaps")
    first = await store.write(maps, config_map("a", v="1"), previous=None, durable=True)
    second = await store.write(maps, config_map("b"), previous=None, durable=True)
    then = store.revision
    await store.write(maps, config_map("a", v="2"), previous=first, durable=True)
    await store.remove(maps, config_map("b"), previous=second, durable=True)
    await store.write(maps, config_map("c"), previous=None, durable=True)
    assert list(maps.entries_at(then)) == [first, second]
    assert [entry.name for entry in maps.entries()] == ["a", "c"]


async def test_the_past_is_bounded_and_what_is_forgotten_expires(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "WINDOW_EVENTS", 10)
    maps = store.collection("", "configmaps")
    start = store.revision
    for i in range(25):
        await store.write(maps, config_map(f"a{i}"), previous=None, durable=True)
    assert len(maps.since(store.revision - 10)) == 10
    with pytest.raises(ExpiredError):
        maps.since(start)
    with pytest.raises(ExpiredError):
        maps.entries_at(start)


async def test_lists_are_sorted_by_key_now_and_in_the_past(store: Store) -> None:
    maps = store.collection("", "configmaps")
    for namespace, name in (("b", "a"), ("a", "z"), ("a-b", "m"), ("a", "b"), ("c", "c")):
        await store.write(maps, config_map(name, namespace), previous=None, durable=True)
    then = store.revision
    listed = list(maps.entries())
    assert [entry.key for entry in listed] == ["a-b/m", "a/b", "a/z", "b/a", "c/c"]
    await store.write(maps, config_map("d"), previous=None, durable=True)
    assert list(maps.entries_at(then)) == listed
    assert [e.name for e in maps.entries("a")] == ["b", "z"]


async def test_a_failed_commit_takes_back_everything_that_was_built_on_it(tmp_path: Path) -> None:
    path = tmp_path / "cluster.sqlite3"
    store = Store(path)
    store._journal._db.execute("pragma max_page_count = 60")
    store.start()
    maps = store.collection("", "configmaps")
    first = await store.write(maps, config_map("small"), previous=None, durable=True)
    big = asyncio.ensure_future(store.write(maps, config_map("big", x="x" * 500_000), previous=None, durable=True))
    await asyncio.sleep(0)
    on_top = asyncio.ensure_future(
        store.write(maps, config_map("big", x="x" * 500_000, y="y"), previous=maps.head("default", "big"), durable=True)
    )
    results = await asyncio.gather(big, on_top, return_exceptions=True)
    assert all(isinstance(result, sqlite3.Error) for result in results)
    assert maps.head("default", "big") is None
    after = await store.write(maps, config_map("small", x="1"), previous=first, durable=True)
    assert maps.get("default", "small") is after
    store.close()
    reopened = Store(path)
    assert [entry.name for entry in reopened.collection("", "configmaps").entries()] == ["small"]
    reopened.close()


async def test_of_many_writes_at_once_the_last_of_each_object_is_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "cluster.sqlite3"
    store = Store(path)
    store.start()
    maps = store.collection("", "configmaps")
    kept = [asyncio.ensure_future(store.write(maps, config_map(f"m{n}"), previous=None, durable=True)) for n in range(150)]
    await asyncio.sleep(0)
    again = [
        asyncio.ensure_future(
            store.write(maps, config_map(f"m{n}", x=str(n)), previous=maps.head("default", f"m{n}"), durable=True)
        )
        for n in range(100)
    ]
    await asyncio.sleep(0)
    heads = [head for n in range(50) if (head := maps.head("default", f"m{n}"))]
    assert len(heads) == 50
    gone = [asyncio.ensure_future(store.remove(maps, config_map(head.name), previous=head, durable=True)) for head in heads]
    await asyncio.gather(*kept, *again, *gone)
    store.close()
    reopened = Store(path)
    values = {entry.name: entry.field("data.x") for entry in reopened.collection("", "configmaps").entries()}
    assert values == {f"m{n}": str(n) if n < 100 else "" for n in range(50, 150)}
    reopened.close()


async def test_a_restart_keeps_durable_objects_and_no_revision_comes_twice(tmp_path: Path) -> None:
    path = tmp_path / "cluster.sqlite3"
    store = Store(path)
    store.start()
    maps, leases = store.collection("", "configmaps"), store.collection("", "leases")
    kept = await store.write(maps, config_map("kept"), previous=None, durable=True)
    gone = await store.write(maps, config_map("gone"), previous=None, durable=True)
    await store.remove(maps, config_map("gone"), previous=gone, durable=True)
    lease = await store.write(leases, config_map("lease"), previous=None, durable=False)
    store.close()
    again = Store(path)
    found = list(again.collection("", "configmaps").entries())
    assert [(e.name, e.revision, e.tail, e.uid) for e in found] == [("kept", kept.revision, kept.tail, "uid-kept")]
    assert not list(again.collection("", "leases").entries())
    assert again.revision > lease.revision
    with pytest.raises(ExpiredError):
        again.collection("", "configmaps").since(lease.revision)
    with pytest.raises(ExpiredError):
        again.collection("", "configmaps").entries_at(lease.revision)
    again.close()


def test_an_entry_finds_its_labels_and_fields_in_its_bytes() -> None:
    tail = b'"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"nodeName":"n","on":true},"status":{}}'
    entry = Entry("default", "p", "u", 1, tail)
    assert entry.labels == {"a": "b"}
    paths = ("metadata.name", "metadata.namespace", "spec.nodeName", "spec.on", "status.phase", "spec.nodeName.x")
    assert [entry.field(path) for path in paths] == ["p", "default", "n", "true", "", ""]


def test_an_event_keeps_its_frames() -> None:
    event = Event("ADDED", Entry("default", "p", "u", 1, b'"metadata":{}}'), None)
    event.frames["json"] = b"x"
    assert event.frames == {"json": b"x"}


@pytest.mark.integration
async def test_kill_9_loses_no_acknowledged_write(tmp_path: Path) -> None:
    server = start_api_server(tmp_path)
    acknowledged: dict[str, str] = {}
    enough = asyncio.Event()

    async def write(client: int) -> None:
        connector = aiohttp.TCPConnector(ssl=server.tls)
        headers = {"Authorization": f"Bearer {server.token}"}
        async with aiohttp.ClientSession(server.url, connector=connector, headers=headers) as session:
            for i in range(10_000):
                body = {"metadata": {"name": f"c{client}-{i}"}, "data": {"x": "y" * 500}}
                try:
                    async with session.post("/api/v1/namespaces/default/configmaps", json=body) as response:
                        answer = await response.json()
                        assert response.status == 201, answer
                except (aiohttp.ClientError, OSError):
                    return
                acknowledged[answer["metadata"]["name"]] = answer["metadata"]["resourceVersion"]
                if len(acknowledged) > 500:
                    enough.set()

    writers = [asyncio.ensure_future(write(client)) for client in range(16)]
    async with asyncio.timeout(30):
        await enough.wait()
    os.kill(server.process.pid, signal.SIGKILL)
    await asyncio.gather(*writers)
    server.process.wait()
    server = start_api_server(tmp_path)
    try:
        connector = aiohttp.TCPConnector(ssl=server.tls)
        headers = {"Authorization": f"Bearer {server.token}"}
        async with (
            aiohttp.ClientSession(server.url, connector=connector, headers=headers) as session,
            session.get("/api/v1/namespaces/default/configmaps") as response,
        ):
            listed = json.loads(await response.read())
    finally:
        server.stop()
    stored = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed["items"]}
    assert {name: stored.get(name) for name in acknowledged} == acknowledged
    assert int(listed["metadata"]["resourceVersion"]) > max(map(int, acknowledged.values()))
