"""What a watch delivers: everything once, in order, in the form that was asked for, and an honest end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from cluster.api_server import start_api_server
from cluster.apiserver.http_client import Api, client
from shunter.api.resources import CONFIG_MAPS
from shunter.cluster.apiserver import watch
from shunter.cluster.apiserver.negotiation import Form
from shunter.cluster.apiserver.selectors import Selector, label_requirements
from shunter.cluster.apiserver.storage.store import Collection, Entry, Event

Json = dict[str, Any]


def summary(events: list[Json]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


async def revision(api: Api, path: str) -> str:
    listed = await api.get(path)
    return str(listed["metadata"]["resourceVersion"])


@pytest.mark.parametrize("flag", ["true", "True", "1", "t", "TRUE"])
async def test_go_and_python_ways_to_say_true_are_watches(api: Api, config_maps: str, flag: str) -> None:
    await api.create(config_maps, {"metadata": {"name": "a"}})
    async with api.watch(f"{config_maps}?watch={flag}&timeoutSeconds=1") as events:
        assert summary(await events.rest()) == [("ADDED", "a")]


@pytest.mark.parametrize("seconds", [-1, -(10**12)])
async def test_a_watch_whose_time_is_over_ends_at_once(api: Api, config_maps: str, seconds: int) -> None:
    async with asyncio.timeout(10), api.watch(f"{config_maps}?watch=1&timeoutSeconds={seconds}") as events:
        await events.rest()


async def test_a_watch_from_a_revision_delivers_every_change_after_it_once(api: Api, config_maps: str) -> None:
    since = await revision(api, config_maps)
    await api.create(config_maps, {"metadata": {"name": "a"}})
    async with api.watch(f"{config_maps}?watch=1&resourceVersion={since}&timeoutSeconds=30") as events:
        assert summary([await events.next()]) == [("ADDED", "a")]
        await api.merge(f"{config_maps}/a", {"data": {"x": "1"}})
        await api.request("DELETE", f"{config_maps}/a")
        changed, deleted = await events.next(), await events.next()
    assert summary([changed, deleted]) == [("MODIFIED", "a"), ("DELETED", "a")]
    assert int(deleted["object"]["metadata"]["resourceVersion"]) > int(changed["object"]["metadata"]["resourceVersion"])


async def test_objects_that_enter_and_leave_a_selector_are_added_and_deleted(api: Api, config_maps: str) -> None:
    await api.create(config_maps, {"metadata": {"name": "a", "labels": {"in": "no"}}})
    since = await revision(api, config_maps)
    path = f"{config_maps}?watch=1&resourceVersion={since}&labelSelector=in=yes&timeoutSeconds=30"
    async with api.watch(path) as events:
        await api.merge(f"{config_maps}/a", {"data": {"unseen": "1"}})
        await api.merge(f"{config_maps}/a", {"metadata": {"labels": {"in": "yes"}}})
        await api.merge(f"{config_maps}/a", {"data": {"x": "1"}})
        await api.merge(f"{config_maps}/a", {"metadata": {"labels": {"in": "no"}}})
        await api.request("DELETE", f"{config_maps}/a")
        await api.create(config_maps, {"metadata": {"name": "b", "labels": {"in": "yes"}}})
        seen = [await events.next() for _ in range(4)]
    assert summary(seen) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    left = seen[2]["object"]["metadata"]
    assert left["labels"] == {"in": "yes"}, "it is shown as it was when it still matched"
    assert int(left["resourceVersion"]) > int(seen[1]["object"]["metadata"]["resourceVersion"])


async def test_a_named_watch_follows_one_object(api: Api, config_maps: str) -> None:
    for name in ("a", "b"):
        await api.create(config_maps, {"metadata": {"name": name}})
    async with api.watch(f"{config_maps}?watch=1&fieldSelector=metadata.name=b&timeoutSeconds=1") as events:
        assert summary(await events.rest()) == [("ADDED", "b")]


async def test_watch_list_ends_its_initial_events_with_an_annotated_bookmark(api: Api, config_maps: str) -> None:
    await api.create(config_maps, {"metadata": {"name": "a"}})
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=30"
    async with api.watch(f"{config_maps}?{query}") as events:
        added, bookmark = await events.next(), await events.next()
        await api.create(config_maps, {"metadata": {"name": "b"}})
        live = await events.next()
    assert summary([added, live]) == [("ADDED", "a"), ("ADDED", "b")]
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["kind"] == "ConfigMap"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["object"]["metadata"]["resourceVersion"]) >= int(added["object"]["metadata"]["resourceVersion"])


@pytest.mark.integration
async def test_a_forgotten_revision_is_an_error_event_with_410(tmp_path: Path) -> None:
    server = start_api_server(tmp_path)
    server.stop()
    server = start_api_server(tmp_path)
    try:
        async with client(server) as api, api.watch("/api/v1/configmaps?watch=1&resourceVersion=3") as events:
            (event,) = await events.rest()
    finally:
        server.stop()
    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 410
    assert event["object"]["reason"] == "Expired"
    assert event["object"]["message"].startswith("too old resource version: 3 (")


async def test_table_watch_sends_columns_with_the_first_row_only(api: Api, config_maps: str) -> None:
    for name in ("a", "b"):
        await api.create(config_maps, {"metadata": {"name": name}, "data": {"x": "1"}})
    form = "application/json;as=Table;g=meta.k8s.io;v=v1"
    async with api.watch(f"{config_maps}?watch=1&timeoutSeconds=1", Accept=form) as events:
        first, second = (event["object"] for event in await events.rest())
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert second["columnDefinitions"] is None
    assert [table["rows"][0]["cells"][:2] for table in (first, second)] == [["a", 1], ["b", 1]]
    assert first["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_metadata_watch_sends_metadata_only(api: Api, config_maps: str) -> None:
    await api.create(config_maps, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    form = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    async with api.watch(f"{config_maps}?watch=1&timeoutSeconds=1", Accept=form) as events:
        (event,) = await events.rest()
    assert event["object"]["kind"] == "PartialObjectMetadata"
    assert "data" not in event["object"]


async def open_watches(api: Api) -> int:
    text = (await api.request("GET", "/metrics")).body
    return int(text.split('apiserver_longrunning_requests{verb="WATCH"} ')[1].split("\n")[0])


async def test_a_client_that_leaves_takes_its_watch_with_it(api: Api, config_maps: str) -> None:
    before = await open_watches(api)
    async with api.watch(f"{config_maps}?watch=1"):
        assert await open_watches(api) == before + 1
    async with asyncio.timeout(10):
        while await open_watches(api) > before:  # noqa: ASYNC110 (the server says so when asked)
            await asyncio.sleep(0.01)


async def test_a_thousand_events_reach_every_watcher_in_order(api: Api, config_maps: str) -> None:
    since = await revision(api, config_maps)
    path = f"{config_maps}?watch=1&resourceVersion={since}&timeoutSeconds=60"

    async def follow() -> list[int]:
        async with api.watch(path) as events:
            return [int((await events.next())["object"]["metadata"]["resourceVersion"]) for _ in range(1000)]

    followers = [asyncio.ensure_future(follow()) for _ in range(5)]
    for start in range(0, 1000, 50):
        await asyncio.gather(*(api.create(config_maps, {"metadata": {"name": f"c{i}"}}) for i in range(start, start + 50)))
    seen = await asyncio.gather(*followers)
    assert all(revisions == seen[0] for revisions in seen)
    assert seen[0] == sorted(set(seen[0]))


@pytest.mark.integration
async def test_sigterm_ends_watches_cleanly(tmp_path: Path) -> None:
    server = start_api_server(tmp_path)
    headers = {"Authorization": f"Bearer {server.token}"}
    connector = aiohttp.TCPConnector(ssl=server.tls)
    async with (
        aiohttp.ClientSession(server.url, connector=connector, headers=headers) as session,
        session.get("/api/v1/namespaces?watch=1") as response,
    ):
        await response.content.readline()
        server.process.terminate()
        async with asyncio.timeout(10):
            rest = await response.content.read()
    assert rest.endswith(b"\n")
    assert await asyncio.to_thread(server.process.wait, 10) == 0


def event(name: str, size: int = 10) -> Event:
    return Event(
        "ADDED", Entry("default", name, "u", 1, b'"metadata":{"name":"%s"},"x":"%s"}' % (name.encode(), b"x" * size)), None
    )


class _Served:
    resource = CONFIG_MAPS
    prefix = b'{"kind":"ConfigMap","apiVersion":"v1",'

    def body(self, entry: Entry) -> bytes:
        return self.prefix + entry.tail


def watcher(collection: Collection, wanted: Selector | None = None) -> watch.Watcher:
    view = watch.View(None, _Served(), Form(), "")  # type: ignore[arg-type]
    return watch.Watcher(collection, view, "", wanted or Selector())


async def test_a_slow_client_is_cut_instead_of_buffered_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PENDING_BYTES", 1000)
    cut = asyncio.Event()
    with watcher(Collection("", "configmaps", 0)) as slow:
        slow.cut = cut.set
        await slow.chunk(0)
        slow.on_events([event("a", 600)])
        assert not cut.is_set()
        slow.on_events([event("b", 600)])
        assert cut.is_set()


def initial_list(collection: Collection, store: SimpleNamespace, cut: asyncio.Event) -> AsyncIterator[bytes]:
    """What a client gets that asks for the whole collection as events, and for bookmarks."""
    asked = watch.Watch(since=0, initial=True, initial_end=True, bookmarks=True, seconds=60, selector=Selector())
    return frames(collection, store, asked, cut)


def frames(collection: Collection, store: SimpleNamespace, asked: watch.Watch, cut: asyncio.Event) -> AsyncIterator[bytes]:
    backend: Any = SimpleNamespace(collection=lambda served: collection, store=store)
    call: Any = SimpleNamespace(query={}, target=SimpleNamespace(namespace=""))
    served: Any = _Served()
    return watch.frames(backend, call, served, Form(), asked, asyncio.Event(), cut.set)


async def test_a_collection_larger_than_what_may_be_pending_is_listed_by_a_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PENDING_BYTES", 1000)
    collection, cut = Collection("", "configmaps", 0), asyncio.Event()
    for name in ("a", "b"):
        collection.load(event(name, 600).entry)
    first = await anext(initial_list(collection, SimpleNamespace(revision=7), cut))
    assert not cut.is_set()
    assert [line.split(b'"')[3] for line in first.splitlines()] == [b"ADDED", b"ADDED", b"BOOKMARK"]


@pytest.mark.parametrize("wanted", [True, False])
async def test_bookmarks_come_from_time_to_time_to_those_who_ask_for_them(monkeypatch: pytest.MonkeyPatch, wanted: bool) -> None:
    monkeypatch.setattr(watch, "BOOKMARK_SECONDS", 0.01)
    asked = watch.Watch(since=7, initial=False, initial_end=False, bookmarks=wanted, seconds=0.05, selector=Selector())
    stream = frames(Collection("", "configmaps", 0), SimpleNamespace(revision=9), asked, asyncio.Event())
    seen = b"".join([chunk async for chunk in stream])
    versions = {(line["type"], line["object"]["metadata"]["resourceVersion"]) for line in map(json.loads, seen.splitlines())}
    assert versions == ({("BOOKMARK", "9")} if wanted else set())


async def test_a_bookmark_never_comes_before_an_event_that_it_speaks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BOOKMARK_SECONDS", 0.0)
    collection, store = Collection("", "configmaps", 0), SimpleNamespace(revision=7)
    collection.load(event("a").entry)
    stream = initial_list(collection, store, asyncio.Event())
    await anext(stream)
    # The client is still reading that.
    store.revision = 8
    for listener in collection.listeners:
        listener([event("late")])
    seen = b""
    while b"late" not in seen:
        seen += await anext(stream)
    assert b"BOOKMARK" not in seen.partition(b"late")[0]


async def test_a_watch_that_cannot_show_an_event_is_cut_and_disturbs_nobody_else() -> None:
    class Unshowable(_Served):
        def body(self, entry: Entry) -> bytes:
            raise OverflowError

    collection, cut = Collection("", "configmaps", 0), asyncio.Event()
    view = watch.View(None, Unshowable(), Form(), "")  # type: ignore[arg-type]
    with watch.Watcher(collection, view, "", Selector()) as one:
        one.cut = cut.set
        for listener in collection.listeners:
            listener([event("a")])
    assert cut.is_set()


async def test_one_event_is_encoded_once_for_all_watchers() -> None:
    shared = event("a")
    collection = Collection("", "configmaps", 0)
    watchers = [watcher(collection) for _ in range(3)]
    for one in watchers:
        one.on_events([shared])
    chunks = [await one.chunk(1) for one in watchers]
    assert len(set(chunks)) == 1
    assert len(shared.frames) == 1


async def test_a_few_events_go_at_once_and_a_crowd_in_few_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "DISTANCE_SECONDS", 1000.0)
    with watcher(Collection("", "configmaps", 0)) as one:
        for number in range(watch.AT_ONCE):
            one.on_events([event(f"event-{number}")])
            async with asyncio.timeout(10):
                assert b"event-" in await one.chunk(1000)
        crowd = asyncio.ensure_future(one.chunk(1000))
        one.on_events([event("a")])
        for _ in range(3):
            await asyncio.sleep(0)
        assert not crowd.done()
        crowd.cancel()


async def test_selectors_decide_by_the_labels_before_and_after() -> None:
    def entry(labels: bytes) -> Entry:
        return Entry("default", "a", "u", 1, b'"metadata":{"name":"a","labels":%s}}' % labels)

    before, after = entry(b'{"x":"1"}'), entry(b'{"x":"2"}')
    one = watcher(Collection("", "configmaps", 0), Selector(label_requirements("x=2")))
    kinds = [
        one._type(Event("MODIFIED", new, old))
        for new, old in ((after, before), (after, after), (before, after), (before, before))
    ]
    assert kinds == ["ADDED", "MODIFIED", "DELETED", None]
