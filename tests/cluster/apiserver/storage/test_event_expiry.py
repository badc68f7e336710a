"""How long Events are kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from shunter.cluster.apiserver.storage.event_expiry import expire
from shunter.cluster.apiserver.storage.store import Event, Store


def event(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "reason": "Told"}


async def test_an_event_goes_when_it_was_not_written_for_long_enough(tmp_path: Path) -> None:
    store = Store(tmp_path / "cluster.sqlite3")
    store.start()
    events = store.collection("", "events")
    gone: dict[str, float] = {}
    loop = asyncio.get_running_loop()

    def notice(changes: list[Event]) -> None:
        gone.update({change.entry.name: loop.time() for change in changes if change.type == "DELETED"})

    await store.write(events, event("before"), previous=None, durable=False)
    events.listeners.add(notice)
    expiring = asyncio.ensure_future(expire(store, kept=0.3, pause=0.01))
    await asyncio.sleep(0)
    begun = loop.time()
    await store.write(events, event("once"), previous=None, durable=False)
    again = await store.write(events, event("again"), previous=None, durable=False)
    await asyncio.sleep(0.15)
    await store.write(events, event("again"), previous=again, durable=False)
    rewritten = loop.time()
    async with asyncio.timeout(10):
        while len(gone) < 3:  # noqa: ASYNC110 (nobody here can set an event)
            await asyncio.sleep(0.01)
    expiring.cancel()
    assert gone["once"] - begun >= 0.3
    assert gone["again"] - rewritten >= 0.3
    assert len(events) == 0
    store.close()
