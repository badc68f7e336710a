"""Informers: the store ends up as the collection is, and handlers hear every difference."""

import asyncio

import pytest

from kube.cache.informers import COLLECTION, FAST, RESTING, Eventually, Heard, config_map, names, new_informer, running
from kube.peer import Peer
from shunter.api.core import ConfigMap
from shunter.kube.cache.reflector import Timing
from shunter.kube.client import Client
from shunter.kube.controllers.plan import Key


@pytest.mark.usefixtures("any_list")
@pytest.mark.parametrize("timing", [FAST, RESTING], ids=["at once", "with pauses"])
async def test_the_store_follows_the_collection(peer: Peer, client: Client, eventually: Eventually, timing: Timing) -> None:
    await peer.put(COLLECTION, config_map("a"))
    informer, heard = new_informer(client, timing), Heard()
    informer.add_handler(heard)
    async with running(informer):
        assert names(informer) == ["a"]
        await peer.put(COLLECTION, config_map("b"))
        await peer.put(COLLECTION, config_map("b", x="1"))
        await peer.remove(COLLECTION, "n", "a")
        await eventually(lambda: names(informer) == ["b"])
    assert heard.words == ["+a", "+b", "~b", "-a"]


@pytest.mark.usefixtures("any_list")
async def test_a_refresh_shows_what_a_lagging_watch_hides(peer: Peer, client: Client) -> None:
    await peer.put(COLLECTION, config_map("gone"))
    informer, heard = new_informer(client), Heard()
    async with running(informer):
        informer.add_handler(heard)
        peer.held.add(COLLECTION)
        await peer.remove(COLLECTION, "n", "gone")
        await peer.put(COLLECTION, config_map("new"))
        assert names(informer) == ["gone"]
        peer.held.clear()
        informer.refresh()
        assert informer.is_synced, "what was known is still known"
        async with asyncio.timeout(5):
            await informer.wait_synced()
        assert names(informer) == ["new"]
    assert heard.words == ["+gone", "-gone", "+new"]


@pytest.mark.usefixtures("any_list")
async def test_an_object_that_does_not_fit_is_said_once_and_stops_nobody_elses(
    peer: Peer, client: Client, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    await peer.put(COLLECTION, {**config_map("bad"), "data": {"x": 1}})
    async with running(new_informer(client)) as informer:
        await peer.put(COLLECTION, {**config_map("bad"), "data": {"x": 2}})
        await peer.put(COLLECTION, config_map("good"))
        await eventually(lambda: names(informer) == ["good"])
        await peer.put(COLLECTION, config_map("bad", x="mended"))
        await eventually(lambda: names(informer) == ["bad", "good"])
    assert caplog.text.count("n/bad is left out") == 1
    assert "Expected `str`, got `int`" in caplog.text


async def test_an_object_that_stops_fitting_is_not_told_as_deleted(peer: Peer, client: Client, eventually: Eventually) -> None:
    peer.has_watch_list = False
    await peer.put(COLLECTION, config_map("a"))
    informer, heard = new_informer(client), Heard()
    informer.add_handler(heard)
    async with running(informer):
        peer.held.add(COLLECTION)
        await peer.put(COLLECTION, {**config_map("a"), "data": 1})
        await peer.put(COLLECTION, config_map("b"))
        peer.forget_history()
        await peer.end_watches()
        await peer.release()
        await eventually(lambda: "b" in names(informer))
    assert heard.words == ["+a", "+b"]


async def test_several_namespaces_feed_one_store(peer: Peer, client: Client, eventually: Eventually) -> None:
    for namespace in ("one", "two", "three"):
        await peer.put(COLLECTION, config_map("a", namespace))
    async with running(new_informer(client, namespaces=["one", "two"])) as informer:
        assert sorted(obj.metadata.namespace for obj in informer.store.list()) == ["one", "two"]
        seen_in_two = informer.store.has_observed("two", peer.last + 1)
        await peer.put(COLLECTION, config_map("b", "one"))
        await eventually(lambda: informer.store.get(Key("one", "b")))
        assert informer.store.has_observed("one", peer.last)
        assert not seen_in_two


async def test_a_handler_that_fails_does_not_stop_the_others(
    peer: Peer, client: Client, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    informer, heard = new_informer(client), Heard()

    def broken(old: ConfigMap | None, new: ConfigMap | None) -> None:
        raise RuntimeError("boom")

    informer.add_handler(broken)
    informer.add_handler(heard)
    async with running(informer):
        await peer.put(COLLECTION, config_map("a"))
        await eventually(lambda: heard.words == ["+a"])
    assert "boom" in caplog.text
