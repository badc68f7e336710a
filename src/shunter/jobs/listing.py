"""The list of all jobs, each with its cause, the number of ranks that are up, its progress and failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.rank_failures import RankFailures
from shunter.jobs.evidence import JobCause, job_causes
from shunter.jobs.failure_record import as_json, failure_record
from shunter.jobs.jobsets import jobsets_of_all
from shunter.jobs.logs.progress import progress_in_logs
from shunter.jobs.lookup import OnRefusal, all_jobs, ignore
from shunter.jobs.pods_up import requested_ranks
from shunter.kube.client import Client
from shunter.operator.overview import Overview, is_finished, overview
from shunter.operator.restarts import Restarts, restarts
from shunter.operator.training_progress import Progress, progress

CAUSE_FIELDS = ("why", "cause", "remedy")


class Row(NamedTuple):
    """One job of the list."""

    job: Overview
    why: JobCause
    progress: Progress | None
    restarts: Restarts | None = None
    wanted: int | None = 0
    """The number of requested ranks, from the job or its JobSet; None if neither has it."""
    failures: RankFailures | None = None

    @property
    def up(self) -> int | None:
        """Ranks with a running pod; None if pods could not be read."""
        return self.why.up_of(self.wanted)

    def as_json(self) -> Json:
        """The job's overview. `why`, `cause` and `remedy` say what keeps it from training or why it failed, and are empty
        otherwise; `unread` names the kinds that could not be read and might contain the cause; `up` is null if pods could not be
        read, `wanted` if a TrainJob leaves the number of nodes to its runtime and has no JobSet, `progress` without reports and
        logs of it, `restarts` if the pods were never all recreated, and for a finished job."""
        found: Json = msgspec.to_builtins(self.job)
        cause = self.why.cause
        why = {"why": cause.word, "cause": cause.sentence, "remedy": cause.remedy} if cause else dict.fromkeys(CAUSE_FIELDS, "")
        return {
            **found,
            **why,
            "unread": list(self.why.unread),
            "up": self.up,
            "wanted": self.wanted,
            "progress": msgspec.to_builtins(self.progress),
            "restarts": msgspec.to_builtins(self.restarts),
            **as_json(self.failures),
        }


class Listing(NamedTuple):
    """All jobs, and what could not be read."""

    rows: list[Row]
    """In the order of `by_creation`."""
    unread: list[str]
    """Kinds that could not be read and might contain the cause of one of the jobs."""
    unread_logs: int
    """The number of jobs whose logs were not read, and might contain their progress."""
    at: datetime
    """When it was read, by the server's clock."""


def by_creation(job: Overview) -> tuple[str, float, str, str]:
    """The key of the default order: by namespace, then the oldest first."""
    return (job.namespace, job.created.timestamp() if job.created else 0.0, job.name, job.kind)


async def listed(
    client: Client,
    namespace: str,
    *,
    with_saved: Callable[[Progress | None, Json], Progress | None] = lambda progress, _: progress,
    on_refusal: OnRefusal = ignore,
) -> Listing:
    """Every job of every kind that the cluster serves. `with_saved` adds to a job's progress what is known of its checkpoints."""
    found = [job for _, job in await all_jobs(client, namespace, on_refusal=on_refusal)]
    why, jobsets, logged = await asyncio.gather(
        job_causes(client, found, namespace, client.now()),
        jobsets_of_all(client, found, namespace),
        progress_in_logs(client, found),
    )
    rows = []
    for job in found:
        uid = job["metadata"]["uid"]
        jobset = jobsets.get(uid)
        rows.append(
            Row(
                overview(job),
                why.get(uid, JobCause(None)),
                with_saved(progress(job) or logged.found.get(uid), job),
                restarts(jobset) if jobset is not None and not is_finished(job) else None,
                requested_ranks(job, jobset),
                failure_record(job),
            )
        )
    rows.sort(key=lambda row: by_creation(row.job))
    return Listing(rows, sorted({kind for row in rows for kind in row.why.unread}), logged.unread, client.now())
