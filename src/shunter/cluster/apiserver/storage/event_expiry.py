"""Removes Events an hour after their last write, so that they do not pile up in a cluster that runs for months.

Source: kube-apiserver's `--event-ttl`.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from shunter.cluster.apiserver.event_versions import STORED_AS
from shunter.cluster.apiserver.storage.store import Entry, Event, StaleError, Store

log = logging.getLogger(__name__)

KEPT_SECONDS = 3600.0
PAUSE_SECONDS = 30.0
"""Seconds between two checks."""


class _Written(NamedTuple):
    at: float
    namespace: str
    name: str
    revision: int


async def expire(store: Store, *, kept: float = KEPT_SECONDS, pause: float = PAUSE_SECONDS) -> None:
    """Removes every Event that was not written for `kept` seconds; those of an earlier run count as written now. Runs until it is
    cancelled."""
    loop = asyncio.get_running_loop()
    collection = store.collection(*STORED_AS)
    written: deque[_Written] = deque()

    def note(entries: Iterable[Entry]) -> None:
        now = loop.time()
        written.extend(_Written(now, entry.namespace, entry.name, entry.revision) for entry in entries)

    def notice(events: list[Event]) -> None:
        note(event.entry for event in events if event.type != "DELETED")

    note(collection.entries())
    collection.listeners.add(notice)
    try:
        while True:
            await asyncio.sleep(pause)
            try:
                while written and written[0].at <= loop.time() - kept:
                    await _remove(store, written[0])
                    written.popleft()
            except sqlite3.Error as error:
                log.warning("events are kept for longer: %s", error)
    finally:
        collection.listeners.discard(notice)


async def _remove(store: Store, written: _Written) -> None:
    """Removes the Event, unless it was written again meanwhile."""
    collection = store.collection(*STORED_AS)
    entry = collection.head(written.namespace, written.name)
    if entry is None or entry.revision != written.revision:
        return
    try:
        await store.remove(collection, entry.document(), previous=entry, durable=False)
    except StaleError:
        return
