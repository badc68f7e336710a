"""What the lines of a watch are read as."""

from contextlib import aclosing

import pytest

from kube.cache.informers import COLLECTION, config_map
from kube.peer import Peer
from shunter.api.core import ConfigMap
from shunter.api.resources import CONFIG_MAPS
from shunter.kube.cache.watch_events import Bookmark, Change, Malformed
from shunter.kube.client import Client
from shunter.kube.errors import (
    Gone,
)


async def test_a_watch_yields_changes_bookmarks_and_objects_that_do_not_fit(peer: Peer, client: Client) -> None:
    await peer.put(COLLECTION, config_map("a"))
    await peer.put(COLLECTION, {**config_map("bad"), "data": 7})
    events = []
    async with aclosing(client.watch(CONFIG_MAPS, view=ConfigMap, send_initial_events=True)) as watch:
        async for event in watch:
            events.append(event)
            if isinstance(event, Bookmark):
                await peer.remove(COLLECTION, "n", "a")
            if isinstance(event, Change) and event.type == "DELETED":
                break
    assert [type(event) for event in events] == [Change, Malformed, Bookmark, Change]
    bookmark = events[2]
    assert isinstance(bookmark, Bookmark)
    assert bookmark.ends_initial_events


async def test_a_watch_from_a_forgotten_version_raises_gone(peer: Peer, client: Client) -> None:
    peer.forget_history()
    with pytest.raises(Gone):
        async for _ in client.watch(CONFIG_MAPS, resource_version="1"):
            pass


async def test_a_line_of_a_watch_may_be_megabytes_long(peer: Peer, client: Client) -> None:
    await peer.put(COLLECTION, config_map("big", x="y" * 5_000_000))
    async with aclosing(client.watch(CONFIG_MAPS, view=ConfigMap, send_initial_events=True)) as watch:
        event = await anext(watch)
    assert isinstance(event, Change)
    assert len(event.object.data["x"]) == 5_000_000
