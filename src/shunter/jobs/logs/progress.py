"""How far a training is by the last lines of its log, for jobs whose programs report to no status server: those of
kubeflow.org/v1, and every script that just prints."""

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
"""Of so many jobs logs are read for one list: each is a request of its own, which a kubelet answers."""
TAIL_LINES = 200
READ_SECONDS = 3.0
"""How long the logs of all of them may take: a kubelet may be out of reach."""


LOGGED_STATES = ("Running", "Failed")
"""States of jobs whose logs are read for their progress."""


class LogProgress(NamedTuple):
    """Progress by the uid of the job, and how many jobs' logs were not read: beyond `MOST_JOBS`, refused, or too slow."""

    found: dict[str, Progress]
    unread: int


async def progress_in_logs(client: Client, jobs: Sequence[Json]) -> LogProgress:
    """That of the jobs among these that run or have failed and whose programs report none, by the log of their first rank; of a
    job that has failed it says how far it came. Running ones are read first."""
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
    """None for a job without a pod whose log says how far it is."""
    async with asyncio.timeout(READ_SECONDS):
        page = await client.list(PODS, job["metadata"]["namespace"], label_selector=pod_selector(job))
        for pod in training_pods(job, [pod for pod in page.items if is_pod_of(job, pod)])[:1]:
            return await progress_in_log(client, pod)
    return None


async def progress_in_log(client: Client, pod: Json) -> Progress | None:
    """By the last lines of one pod's log; None where there is no log, and where it says nothing of it. Raises ApiError where the
    cluster refuses."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    chunks = client.logs(name, namespace, container=training_container(pod), timestamps=True, tail_lines=TAIL_LINES)
    try:
        return logged_progress([line async for line in text_lines(chunks)])
    except (NotFound, BadRequest):
        return None


def logged_progress(lines: Iterable[str]) -> Progress | None:
    """By the last loss in these lines of a log, which begin with their times; else by the last of any metric; and the newest
    checkpoint. None where no line names any of them. What is left is reckoned from the steps that the lines tell, where they say
    of how many."""
    lines = list(lines)
    said, checkpoint = log_report(lines, pod="", rank=0), saved_checkpoint(lines)
    series = leading(said.series)
    if series is None:
        return None if checkpoint is None else Progress(reported=checkpoint.saved, checkpoint=checkpoint, source="log")
    last = series.points[-1]
    epoch, step = None, None
    if len(last.at) == 2:
        epoch, step = last.at
    elif not series.is_counted:
        epoch, step = (last.at[0], None) if said.counts_epochs else (None, last.at[0])
    is_whole = step is not None and step.is_integer()
    steps = said.steps if epoch is None and is_whole else None
    pace = seconds_a_step(series.points) if steps is not None else None
    return Progress(
        reported=None if last.time is None else datetime.fromtimestamp(last.time, UTC),
        left_seconds=None if pace is None or steps is None or step is None else round(max(0, (steps - step) * pace)),
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
