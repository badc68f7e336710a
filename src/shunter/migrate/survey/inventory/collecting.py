"""The rows of the inventory, from conversions, or from a cluster page by page. Pages after the first are converted in other
processes, because converting takes longer than reading; only a few pages are in memory.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from shunter.api.collector import collect_seldom
from shunter.kube.client import Client
from shunter.migrate.conversion import suppression
from shunter.migrate.conversion.batch import Batch, converted
from shunter.migrate.conversion.source import live
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.survey.inventory.row import Row, row_of

NOWHERE: Mapping[int, str] = MappingProxyType({})
MOST_PROCESSES = 2
"""Each takes 80 MiB, and the limit for all is 300."""


class InventoryOptions(NamedTuple):
    """The options for all pages of a run."""

    options: Options
    now: datetime
    known: Sequence[suppression.Entry] = ()
    """The suppressions."""


def of_batch(batch: Batch, now: datetime, inside: Mapping[int, str] = NOWHERE) -> list[Row]:
    """A row for each outcome; `inside` has the containing objects of embedded sources, by `id` of the source."""
    return [row_of(outcome, now, inside=inside.get(id(outcome.source), "")) for outcome in batch.outcomes]


def insides(given: Input) -> dict[int, str]:
    """The objects (`CronJob team/nightly`) or value files that contain the embedded jobs of an input."""
    return {id(found.job): found.host.title if found.host.kind else found.host.source for found in given.embedded}


async def of_cluster(
    client: Client,
    namespaces: Sequence[str],
    inventory_options: InventoryOptions,
    *,
    label_selector: str = "",
    advance: Callable[[int], None] = lambda count: None,
) -> tuple[list[Row], list[Finding]]:
    """The rows of all v1 jobs in the namespaces (`""`: all), and findings about kinds that may not be read; `advance` is called
    with the number of jobs of each page. Rules that look for other jobs of the same name see only those of the same page."""
    entries: list[Row] = []
    findings: list[Finding] = []
    with _pool() as pool:
        under_way: set[asyncio.Task[tuple[bytes, int]]] = set()

        async def collect(how_many: int) -> None:
            """Waits until at most this many pages are in progress."""
            nonlocal under_way
            while len(under_way) > how_many:
                done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for rows, count in (task.result() for task in done):
                    entries.extend(_DECODER.decode(rows))
                    advance(count)

        first = True
        async for page in live.pages(client, namespaces, label_selector=label_selector, findings=findings):
            executor = None if first else pool()
            under_way.add(asyncio.create_task(_rows_elsewhere(executor, page, inventory_options)))
            first = False
            await collect(2 * MOST_PROCESSES)
        await collect(0)
    return entries, findings


_DECODER = msgspec.msgpack.Decoder(list[Row])


async def _rows_elsewhere(executor: Executor | None, page: live.Page, inventory_options: InventoryOptions) -> tuple[bytes, int]:
    if executor is None:
        return rows(page, inventory_options), len(page.items)
    return await asyncio.get_running_loop().run_in_executor(executor, rows, page, inventory_options), len(page.items)


def rows(page: live.Page, inventory_options: InventoryOptions) -> bytes:
    """The rows of a page, encoded: much cheaper to send between processes than objects."""
    batch = converted(page.sources(), inventory_options.options)
    batch = suppression.applied(batch, inventory_options.known, inventory_options.now.date()).batch
    return msgspec.msgpack.encode(of_batch(batch, inventory_options.now))


@contextmanager
def _pool() -> Iterator[Callable[[], Executor]]:
    """Returns a function that starts the processes at its first call; they are stopped at the end."""
    started: list[ProcessPoolExecutor] = []

    def pool() -> Executor:
        if not started:
            processes = min(MOST_PROCESSES, os.cpu_count() or 1)
            context = multiprocessing.get_context("spawn")
            started.append(ProcessPoolExecutor(processes, mp_context=context, initializer=collect_seldom))
        return started[0]

    try:
        yield pool
    finally:
        for executor in started:
            executor.shutdown(cancel_futures=True)
