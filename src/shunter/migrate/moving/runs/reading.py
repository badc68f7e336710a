"""Reads a run from a cluster: the job, its pods, and the logs of the containers that train. Decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from shunter.api.meta import Json
from shunter.api.resources import JOBSETS, PODS
from shunter.jobs.logs.metrics import LogReader, LogReport, MetricPattern, log_report
from shunter.jobs.logs.reading import CONCURRENT_LOGS
from shunter.jobs.training_pods import pods_by_rank, training_container
from shunter.kube.client import Client
from shunter.kube.errors import PASSING, BadRequest, Forbidden, NotFound
from shunter.kube.pods.log_lines import text_lines
from shunter.migrate.moving.runs.observation import observed
from shunter.migrate.moving.runs.record import Run
from shunter.operator.overview import is_pod_of, is_v2, pod_selector
from shunter.operator.pod_places import place

ATTEMPTS = 3
"""How often a log is read that does not come, or breaks off."""
RETRY_SECONDS = 1.0


async def run_of(
    client: Client,
    job: Json,
    *,
    extra: Sequence[MetricPattern] = (),
    last_pods: Sequence[Json] = (),
    last_lines: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Run:
    """The run of the job, as far as it can be observed now. A caller that followed it passes the last pods, and their log lines
    by label: pods that still run when the first rank has succeeded are removed with their logs, and the log of a node that does
    not respond does not come. Raises ApiError if pods or logs may not be read; without `last_lines` also if a log does not
    come."""
    page = await client.list(PODS, job["metadata"]["namespace"], label_selector=pod_selector(job))
    present = {pod["metadata"]["uid"]: pod for pod in page.items if is_pod_of(job, pod)}
    pods = [*present.values(), *(pod for pod in last_pods if pod["metadata"]["uid"] not in present)]
    free = asyncio.Semaphore(CONCURRENT_LOGS)

    async def read(rank: int, pod: Json) -> tuple[str, LogReport]:
        label = place(job, pod).label
        async with free:
            report = await _log_report(client, pod, lambda: LogReader(label, rank, extra), is_followed=bool(last_lines))
        return pod["metadata"]["name"], report or log_report(last_lines.get(label, ()), pod=label, rank=rank, extra=extra)

    reports = await asyncio.gather(*(read(rank, pod) for rank, pod in pods_by_rank(job, pods).items()))
    return observed(job, pods, dict(reports), await _jobset(client, job))


async def _log_report(client: Client, pod: Json, new_reader: Callable[[], LogReader], *, is_followed: bool) -> LogReport | None:
    """The report on the whole log of the container that trains; None if there is no log (yet, or any more), or if that of a job
    that was followed does not come."""
    where = pod["metadata"]["name"], pod["metadata"]["namespace"]
    for attempt in range(1, ATTEMPTS + 1):
        reader = new_reader()
        try:
            async for line in text_lines(client.logs(*where, container=training_container(pod), timestamps=True)):
                reader.read(line)
            return reader.report()
        except (NotFound, BadRequest):
            return None
        except PASSING:
            if attempt == ATTEMPTS and not is_followed:
                raise
            await asyncio.sleep(RETRY_SECONDS)
    return None


async def _jobset(client: Client, job: Json) -> Json | None:
    """A TrainJob's JobSet; None where there is none (any more), or where it may not be read."""
    if not is_v2(job):
        return None
    try:
        return await client.get(JOBSETS, job["metadata"]["name"], job["metadata"]["namespace"])
    except (NotFound, Forbidden):
        return None
