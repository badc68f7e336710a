"""Runs of v1 jobs, kept in files before the jobs are suspended or deleted: there is nothing else to compare with afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from shunter.api.meta import Json
from shunter.jobs.logs.metrics import MetricPattern
from shunter.kube.client import Client
from shunter.migrate.moving.runs.reading import run_of
from shunter.migrate.moving.runs.record import Run, encoded, stored
from shunter.migrate.moving.steps import v1_job_of
from shunter.migrate.writing import write_whole
from shunter.operator.overview import is_finished


async def keep(client: Client, directory: Path, job: Json, *, moved: bool) -> None:
    """Writes what is to be seen of a v1 job's run. What was kept before the job was moved is not replaced when it is deleted.
    ApiError where pods or logs may not be read, EnvironmentProblem where the file cannot be written."""
    metadata = job["metadata"]
    title = f"{job['kind']} {metadata['namespace']}/{metadata['name']}"
    before = kept(directory, title)
    if before is None or moved or (before.uid, before.moved) != (metadata["uid"], True):
        run = msgspec.structs.replace(await run_of(client, job), moved=moved)
        write_whole(file_of(directory, title), encoded(run).decode())


async def original_run(
    client: Client, job: Json | None, kept: Run | None, *, went_on: bool, extra: Sequence[MetricPattern] = ()
) -> Run | None:
    """The run of a v1 job to compare its TrainJob's with: the job's own, once it has ended or where none was kept, else the one
    that was kept; None where there is neither. `went_on` says that a plan made the TrainJob without touching the v1 job: if
    somebody had suspended that before, the TrainJob has gone on with its run. ApiError where pods or logs may not be read."""
    if job is None or (kept is not None and not is_finished(job)):
        return kept
    run = await run_of(client, job, extra=extra)
    return msgspec.structs.replace(run, moved=True) if went_on and run.state == "Suspended" and run.ran else run


def kept(directory: Path, title: str) -> Run | None:
    """The run of the v1 job of that title; None when none was kept. InputError when the file is something else."""
    path = file_of(directory, title)
    return stored(path) if path.exists() else None


def file_of(directory: Path, title: str) -> Path:
    """Where the run of `PyTorchJob training/bert` is kept."""
    job = v1_job_of(title)
    return directory / job.namespace / f"{job.resource.kind.lower()}-{job.name}.json"
