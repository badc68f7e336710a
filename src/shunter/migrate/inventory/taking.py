"""Rows of the inventory: from conversions, or from a cluster page by page, so that no more than one page is held at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from shunter.kube.client import Client
from shunter.migrate.batch import Batch, converted
from shunter.migrate.findings import Finding
from shunter.migrate.inventory.entry import Entry, entry
from shunter.migrate.options import Options
from shunter.migrate.source import live


def of_batch(batch: Batch, now: datetime) -> list[Entry]:
    return [entry(outcome, now) for outcome in batch.outcomes]


async def of_cluster(
    client: Client,
    namespaces: Sequence[str],
    options: Options,
    now: datetime,
    *,
    label_selector: str = "",
    marked: Callable[[Batch], Batch] = lambda batch: batch,
    advance: Callable[[int], None] = lambda count: None,
) -> tuple[list[Entry], list[Finding]]:
    """The rows of all v1 jobs in the namespaces (`""` is all of them), and what is told of kinds that may not be read. `marked`
    sets what people have taken on. Rules that look for other jobs of a name see those of the same page."""
    entries: list[Entry] = []
    findings: list[Finding] = []
    async for page in live.pages(client, namespaces, label_selector=label_selector, findings=findings):
        entries += of_batch(marked(converted(page, options)), now)
        advance(len(page))
    return entries, findings
