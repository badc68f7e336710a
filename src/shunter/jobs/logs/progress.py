"""The progress of a training by the last lines of its log, for jobs whose programs do not report to the status server: those of
kubeflow.org/v1, and all scripts that only print it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.jobs.logs.checkpoints import saved_checkpoint
from shunter.jobs.logs.metrics import log_report
from shunter.jobs.metrics import Series, is_loss, leading, seconds_a_step
from shunter.jobs.training_pods import training_container, training_pods
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, BadRequest, NotFound
from shunter.kube.pods.log_lines import text_lines
from shunter.operator.overview import is_pod_of, job_state, pod_selector
from shunter.operator.training_progress import Progress, progress

MOST_JOBS = 20
"""The logs of so many jobs are read for one list: each needs a request, which a kubelet answers."""
TAIL_LINES = 200
READ_SECONDS = 3.0
"""The timeout for the log of one job: its kubelet may be unreachable."""

LOGGED_STATES = ("Running", "Failed")
"""States of jobs whose logs are read for their progress."""


class LogProgress(NamedTuple):
    """Progress by the uid of the job, and how many jobs' logs were not read: beyond `MOST_JOBS`, refused, or too slow."""

    found: dict[str, Progress]
    unread: int


async def progress_in_logs(client: Client, jobs: Sequence[Json]) -> LogProgress:
    """The progress of those jobs that run or have failed and whose programs do not report it, by the log of their first rank.
    Logs of running jobs are read first."""
    silent = [job for state in LOGGED_STATES for job in jobs if job_state(job) == state and progress(job) is None]
    read = await asyncio.gather(*(_read(client, job) for job in silent[:MOST_JOBS]), return_exceptions=True)
    found, unread = {}, len(silent[MOST_JOBS:])
    for job, one in zip(silent, read, strict=False):
        if isinstance(one, ApiError | TimeoutError):
            unread += 1
        elif isinstance(one, BaseException):
            raise one
        elif one is not None:
            found[job["metadata"]["uid"]] = one
    return LogProgress(found, unread)


async def _read(client: Client, job: Json) -> Progress | None:
    """The progress of one job; None if it has no pod, or the log has no progress."""
    async with asyncio.timeout(READ_SECONDS):
        page = await client.list(PODS, job["metadata"]["namespace"], label_selector=pod_selector(job))
        for pod in training_pods(job, [pod for pod in page.items if is_pod_of(job, pod)])[:1]:
            return await progress_in_log(client, pod)
    return None


async def progress_in_log(client: Client, pod: Json) -> Progress | None:
    """The progress by the last lines of a pod's log; None if there is no log, or it has no progress. Raises ApiError if the log
    may not be read."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    chunks = client.logs(name, namespace, container=training_container(pod), timestamps=True, tail_lines=TAIL_LINES)
    try:
        return logged_progress([line async for line in text_lines(chunks)])
    except (NotFound, BadRequest):
        return None


def logged_progress(lines: Iterable[str]) -> Progress | None:
    """The progress by the last loss in these log lines, which begin with timestamps, else by the last value of any metric; and
    the newest checkpoint. None if the lines have none of them. The remaining time is estimated if they have the total number of
    steps."""
    lines = list(lines)
    report, checkpoint = log_report(lines, pod="", rank=0), saved_checkpoint(lines)
    series = leading(report.series)
    if series is None:
        return None if checkpoint is None else Progress(reported=checkpoint.saved, checkpoint=checkpoint, source="log")
    last = series.points[-1]
    epoch, step = None, None
    if len(last.at) == 2:
        epoch, step = last.at
    elif not series.is_counted:
        epoch, step = (last.at[0], None) if report.counts_epochs else (None, last.at[0])
    is_whole = step is not None and step.is_integer()
    steps = report.steps if epoch is None and is_whole else None
    pace = seconds_a_step(series.points) if steps is not None else None
    return Progress(
        reported=None if last.time is None else datetime.fromtimestamp(last.time, UTC),
        remaining_seconds=None if pace is None or steps is None or step is None else round(max(0, (steps - step) * pace)),
        step=int(step) if step is not None and is_whole else None,
        steps=steps,
        loss=_value(series) if is_loss(series.name) else None,
        checkpoint=checkpoint,
        epoch=epoch,
        source="log",
    )


def _value(series: Series) -> float:
    value = series.points[-1].value
    return float("nan") if value is None else value
