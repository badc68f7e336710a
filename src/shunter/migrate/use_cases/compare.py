"""Compares the run of a v1 job with that of its successor."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.titles import title_of
from shunter.jobs.logs.metrics import MetricPattern
from shunter.jobs.lookup import find, jobs_of
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden
from shunter.migrate.moving.annotations import SOURCE, mark
from shunter.migrate.moving.runs.comparison import Comparison, Tolerance, compared
from shunter.migrate.moving.runs.reading import run_of
from shunter.migrate.moving.runs.record import Run
from shunter.migrate.moving.runs.trial_labels import SOURCE_UID, is_trial
from shunter.operator.overview import JOB_RESOURCES


async def compare(
    client: Client,
    original: str,
    successor: str = "",
    *,
    namespace: str = "",
    tolerance: Tolerance = Tolerance(),  # noqa: B008
    metrics: Sequence[MetricPattern] = (),
) -> Comparison:
    """Whether two jobs of a cluster trained the same.

    Both are NAME or KIND/NAME; without `successor` it is the latest trial of the original, or its TrainJob. `metrics` are further
    patterns for metrics in logs. Raises InputError if there is no such job.
    """
    before, after = await runs(client, original, successor, namespace=namespace, metrics=metrics)
    assert after is not None, "it was asked for"
    return compared(before, after, tolerance)


async def runs(
    client: Client,
    original: str,
    successor: str = "",
    *,
    namespace: str = "",
    metrics: Sequence[MetricPattern] = (),
    wants_successor: bool = True,
) -> tuple[Run, Run | None]:
    """The runs of the original (an empty one without a name) and of its successor."""
    job: Json | None = None
    if original:
        v1_kinds = [resource for resource in JOB_RESOURCES if resource != TRAIN_JOBS]
        among = JOB_RESOURCES if "/" in original else v1_kinds
        _, job = await find(client, original, namespace, among=among)
    read = await run_of(client, job, extra=metrics) if job else Run()
    if not wants_successor:
        return read, None
    if successor:
        _, other = await find(client, successor, namespace, among=JOB_RESOURCES if "/" in successor else (TRAIN_JOBS,))
    else:
        assert job is not None, "one of both is named"
        other = await successor_of(client, job)
    return read, await run_of(client, other, extra=metrics)


async def successor_of(client: Client, original: Json) -> Json:
    """The latest trial of the job, else the TrainJob created from it, else that of its name; in all namespaces, or, if not all
    may be read, in the job's. InputError if there is none."""
    metadata = original["metadata"]
    try:
        every = await jobs_of(client, TRAIN_JOBS, "")
    except Forbidden:
        every = await jobs_of(client, TRAIN_JOBS, metadata["namespace"])
    trials = [job for job in every if is_trial(job) and mark(job, SOURCE_UID) == metadata["uid"]]
    converted = [job for job in every if not is_trial(job) and mark(job, SOURCE) == title_of(original)]
    if trials or converted:
        return max(trials or converted, key=lambda job: str(job["metadata"]["creationTimestamp"]))
    _, train_job = await find(client, metadata["name"], metadata["namespace"], among=(TRAIN_JOBS,))
    return train_job
