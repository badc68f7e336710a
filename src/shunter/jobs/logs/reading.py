"""Reads what the logs of a job's ranks tell: metrics, steps, who takes itself for which rank. Decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from shunter.api.meta import Json
from shunter.jobs.logs.metrics import LogReader, LogReport, MetricPattern
from shunter.jobs.training_pods import ranks, training_container, training_pods
from shunter.kube.client import Client
from shunter.kube.errors import BadRequest, NotFound
from shunter.kube.pods.log_lines import text_lines
from shunter.operator.overview import member

CONCURRENT_LOGS = 16


async def log_reports(
    client: Client,
    job: Json,
    pods: Sequence[Json],
    only: Collection[int] | None = None,
    *,
    extra: Sequence[MetricPattern] = (),
    tail_lines: int | None = None,
) -> dict[int, LogReport]:
    """By rank, of those in `only` (None: all) that have a log. `pods` are the job's own; with `tail_lines` only the ends of the
    logs are read. Raises ApiError where the cluster refuses."""
    free = asyncio.Semaphore(CONCURRENT_LOGS)

    async def read(rank: int, pod: Json) -> tuple[int, LogReport | None]:
        async with free:
            return rank, await log_report(client, pod, LogReader(member(job, pod).label, rank, extra), tail_lines)

    ranked = training_pods(job, pods)
    numbered = [(rank, pod) for rank, pod in zip(ranks(job, ranked), ranked, strict=True) if only is None or rank in only]
    found = await asyncio.gather(*(read(rank, pod) for rank, pod in numbered))
    return {rank: report for rank, report in found if report is not None}


async def log_report(client: Client, pod: Json, reader: LogReader, tail_lines: int | None = None) -> LogReport | None:
    """What the container that trains says, with the times of its lines; None where there is no log (yet, or any more)."""
    where = pod["metadata"]["name"], pod["metadata"]["namespace"]
    chunks = client.logs(*where, container=training_container(pod), timestamps=True, tail_lines=tail_lines)
    try:
        async for line in text_lines(chunks):
            reader.read(line)
    except (NotFound, BadRequest):
        return None
    return reader.told()
