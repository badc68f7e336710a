"""Runs of v1 jobs, saved in files before the jobs are suspended or deleted: comparisons need them afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from shunter.api.meta import Json
from shunter.api.titles import title_of
from shunter.jobs.logs.metrics import MetricPattern
from shunter.kube.client import Client
from shunter.migrate.moving.runs.reading import run_of
from shunter.migrate.moving.runs.record import Run, encoded, stored
from shunter.migrate.moving.steps import v1_job_of
from shunter.migrate.writing import write_whole
from shunter.operator.overview import is_finished


async def save(client: Client, directory: Path, job: Json, *, moved: bool) -> None:
    """Saves the run of a v1 job; a run that was saved when the job was moved is not replaced when it is deleted. ApiError if pods
    or logs may not be read, EnvironmentProblem if the file cannot be written."""
    title = title_of(job)
    before = saved(directory, title)
    if before is None or moved or (before.uid, before.moved) != (job["metadata"]["uid"], True):
        run = msgspec.structs.replace(await run_of(client, job), moved=moved)
        write_whole(file_of(directory, title), encoded(run).decode())


async def original_run(
    client: Client, job: Json | None, saved: Run | None, *, went_on: bool, extra: Sequence[MetricPattern] = ()
) -> Run | None:
    """The run of a v1 job with which to compare its TrainJob's: that of the job itself, if it has finished or no run was saved,
    else the saved one; None if there is neither. `went_on`: the plan's action was `create`, so the TrainJob has continued the run
    of a v1 job that was suspended before. ApiError if pods or logs may not be read."""
    if job is None or (saved is not None and not is_finished(job)):
        return saved
    run = await run_of(client, job, extra=extra)
    return msgspec.structs.replace(run, moved=True) if went_on and run.state == "Suspended" and run.ran else run


def saved(directory: Path, title: str) -> Run | None:
    """The saved run of the v1 job with this title; None if there is none. InputError if the file is not a run."""
    path = file_of(directory, title)
    return stored(path) if path.exists() else None


def file_of(directory: Path, title: str) -> Path:
    """The file of the run of `PyTorchJob training/bert`."""
    job = v1_job_of(title)
    return directory / job.namespace / f"{job.resource.kind.lower()}-{job.name}.json"
