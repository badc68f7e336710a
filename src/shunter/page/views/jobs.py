"""The list of all jobs: a row each, made by the same functions as in `shunter jobs`.

State, failures and reported progress come from the job itself, and are shown at once. Why a job does not train, how many of its
ranks are up and the progress in its logs are read only for jobs that need it, shortly after they change and every few seconds
until all their ranks are up.
"""

from __future__ import annotations

import heapq
import time
import zlib
from collections.abc import Mapping, Sequence
from math import inf, isfinite, isnan
from sys import intern
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import CORE_EVENTS, JOBS, JOBSETS, PODS
from shunter.jobs.evidence import JobCause, job_causes
from shunter.jobs.failure_record import failure_record
from shunter.jobs.jobsets import jobsets_of_all
from shunter.jobs.logs.progress import LOGGED_STATES, MOST_JOBS, progress_in_logs
from shunter.jobs.logs.visible_text import visible
from shunter.jobs.pods_up import is_well, requested_ranks
from shunter.jobs.progress_text import position_text
from shunter.kube.client import Client
from shunter.operator.native_jobs import NOT_OF_JOBSETS, has_ranks, is_standalone
from shunter.operator.overview import FINISHED_STATES, SHOWN_RESOURCES, Overview, is_v2, overview
from shunter.operator.training_progress import Progress, progress
from shunter.page import wire
from shunter.page.views.view import Observed, Parameters, Reading, Rows, View, Viewer, Watch

WHY_SECONDS = 5.0
"""How often jobs without all ranks up are read again when they themselves do not change: their pods are not watched here."""
LOG_SECONDS = 15.0
"""How often a log with progress in it is read."""
LONGEST_LOG_SECONDS = 960.0
"""A log without progress is read at intervals that double up to this."""
LONGEST_LAST_SECONDS = 60.0
"""The log of a failed job does not change: it is not read again once progress was found in it, or the interval exceeds this."""
LOGS_AT_ONCE = 4
"""How many logs without known progress are read at a time. After `MOST_JOBS` reads in a row without progress it is one every
`LOG_SECONDS`: programs that log no progress must not cause load for as long as a page is open."""
SETTLE_SECONDS = 0.3
"""A job, its pods and its events change shortly after each other: one reading after all of them is enough."""
STATES: Mapping[str, wire.State] = {
    "Created": "Waiting",
    "Running": "Running",
    "Restarting": "Restarting",
    "Suspended": "Suspended",
    "Succeeded": "Succeeded",
    "Failed": "Failed",
}
_CONSEQUENCE = "Jobs of this kind are not shown."


class KeptJob(NamedTuple):
    """What is kept of a job."""

    job: Overview
    wanted: int
    failures: int
    progress: Progress | None
    is_well: bool
    """Its own status says that all its ranks run, and none has failed."""
    packed: bytes
    """The job as JSON, compressed; empty for a succeeded job, about which nothing more is read."""
    version: str

    @property
    def object(self) -> Json:
        """The job, decompressed."""
        found: Json = msgspec.json.decode(zlib.decompress(self.packed))
        return found


class JobReading(NamedTuple):
    """What was read about one version of a job."""

    version: str
    state: str
    """The state of the job at that time: the cause is not shown once the job is in another state."""
    why: JobCause
    wanted: int


class LogTime(NamedTuple):
    """When a job's log is to be read again."""

    due: float = -inf
    """Monotonic clock, seconds."""
    pause: float = LOG_SECONDS
    state: str = ""
    """The state of the job when its log was read: in another state it is read at once."""


class CachedRow(NamedTuple):
    """A row, and the values that it was made from."""

    kept: KeptJob
    read: JobReading | None
    logged: Progress | None
    row: wire.JobRow


class Jobs:
    """The view. It remembers what was read about which version of a job."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._read: dict[str, JobReading] = {}
        self._rows: dict[str, CachedRow] = {}
        self._progress_in_logs: dict[str, Progress] = {}
        """By the uid of the job."""
        self._log_times: dict[str, LogTime] = {}
        self._reads_without_progress = 0
        """Since the last log in which progress was found."""
        self._next_log_without_progress = -inf
        """When the next log without known progress is read after too many such reads; monotonic clock, seconds."""
        self.watches = tuple(
            Watch(
                resource.plural if resource != JOBS else "batch-jobs",
                resource,
                keep=kept_native if resource == JOBS else kept_job,
                collections=("jobs",),
                consequence=_CONSEQUENCE,
                label_selector=NOT_OF_JOBSETS if resource == JOBS else "",
                is_one_of_several=True,
            )
            for resource in SHOWN_RESOURCES
        )
        self.readings = (
            Reading(
                "why",
                self._read_causes,
                WHY_SECONDS,
                (PODS, CORE_EVENTS, JOBSETS),
                "Why jobs do not train, and how many of their ranks are up, is unknown.",
                SETTLE_SECONDS,
            ),
            Reading("logs", self._read_logs, WHY_SECONDS),
        )

    def rows(self, observed: Observed, now: float) -> Rows:
        """A row for each job. Only rows whose values have changed are made again."""
        why: Mapping[str, JobReading] = observed.readings.get("why", {})
        logs: Mapping[str, Progress] = observed.readings.get("logs", {})
        fresh: dict[str, CachedRow] = {}
        for jobs in observed.objects.values():
            for uid, kept in jobs.items():
                read, logged = why.get(uid), logs.get(uid)
                cached = self._rows.get(uid)
                if cached is None or cached.kept is not kept or cached.read is not read or cached.logged is not logged:
                    cached = CachedRow(kept, read, logged, job_row(kept, read, logged))
                fresh[uid] = cached
        self._rows = fresh
        return {"jobs": [cached.row for cached in fresh.values()]}

    async def _read_causes(self, client: Client, observed: Observed) -> dict[str, JobReading]:
        kept = _all(observed)
        unclear = {uid: job for uid, job in kept.items() if job.packed and self._is_to_read(uid, job)}
        objects = [job.object for job in unclear.values()]
        found = await job_causes(client, objects, self._namespace, client.now()) if objects else {}
        jobsets = await jobsets_of_all(client, [one for one in objects if is_v2(one)], self._namespace) if objects else {}
        read = {uid: old for uid, old in self._read.items() if uid in kept}
        for one in objects:
            uid = one["metadata"]["uid"]
            why, job = found.get(uid, JobCause(None)), unclear[uid]
            fresh = JobReading(job.version, job.job.state, why, requested_ranks(one, jobsets.get(uid)) or 0)
            # `rows` compares by identity, so an equal reading stays the same object.
            read[uid] = old if (old := read.get(uid)) == fresh else fresh
        # So does the whole result: then no rows are made at all.
        self._read = read if read != self._read else self._read
        return self._read

    def _is_to_read(self, uid: str, job: KeptJob) -> bool:
        """Whether the job has changed, or what was read about it may have: it has not finished, and not all its ranks are up."""
        old = self._read.get(uid)
        if old is None or old.version != job.version:
            return True
        return job.job.state not in FINISHED_STATES and not (job.is_well and old.why.is_all_up)

    async def _read_logs(self, client: Client, observed: Observed) -> dict[str, Progress]:
        """Progress in the logs of jobs that report none, by uid; reads a few logs at a time, the longest unread first."""
        silent = self._silent(observed)
        if not self._progress_in_logs.keys() <= silent.keys():
            self._progress_in_logs = {uid: one for uid, one in self._progress_in_logs.items() if uid in silent}
        now = time.monotonic()
        due = self._due(silent, now)
        found: dict[str, Progress] = {}
        for first in range(0, len(due), LOGS_AT_ONCE):
            some = [silent[uid].object for uid in due[first : first + LOGS_AT_ONCE]]
            found |= (await progress_in_logs(client, some)).found
        self._note_read(silent, due, found, now)
        return self._progress_in_logs

    def _silent(self, observed: Observed) -> dict[str, KeptJob]:
        """The running and failed jobs that report no progress: it can only be in their logs."""
        return {uid: job for uid, job in _all(observed).items() if job.job.state in LOGGED_STATES and job.progress is None}

    def _note_read(self, silent: Mapping[str, KeptJob], due: Sequence[str], found: Mapping[str, Progress], now: float) -> None:
        """Keeps the progress found in the logs that were read, and sets when each is read again."""
        for uid in due:
            logged, pause = found.get(uid), self._log_times.get(uid, LogTime()).pause
            self._reads_without_progress = 0 if logged is not None else self._reads_without_progress + 1
            pause = LOG_SECONDS if logged is not None else min(2 * pause, LONGEST_LOG_SECONDS)
            is_last = not silent[uid].job.is_running and (logged is not None or pause > LONGEST_LAST_SECONDS)
            self._log_times[uid] = LogTime(inf if is_last else now + pause, pause, silent[uid].job.state)
            if logged is not None and logged != self._progress_in_logs.get(uid):
                self._progress_in_logs = {**self._progress_in_logs, uid: logged}

    def _due(self, silent: Mapping[str, KeptJob], now: float) -> list[str]:
        """The jobs whose logs are read now: those with known progress that are due, the longest due first, and a few of the
        others, running ones first, then the newest. The first time there are as many as `shunter jobs` reads."""
        is_first = not self._log_times
        self._log_times = {uid: at for uid, at in self._log_times.items() if uid in silent and at.state == silent[uid].job.state}
        times = {uid: self._log_times.get(uid, LogTime()).due for uid in silent}
        due = [uid for uid, at in times.items() if now >= at]
        logged = heapq.nsmallest(MOST_JOBS, (uid for uid in due if uid in self._progress_in_logs), key=times.__getitem__)
        if self._reads_without_progress < MOST_JOBS:
            most = MOST_JOBS if is_first else LOGS_AT_ONCE
        elif now < self._next_log_without_progress:
            return logged
        else:
            most, self._next_log_without_progress = 1, now + LOG_SECONDS
        others = heapq.nsmallest(
            most,
            (uid for uid in due if uid not in self._progress_in_logs),
            key=lambda uid: (times[uid], not silent[uid].job.is_running, -_created(silent[uid])),
        )
        return [*logged, *others]


def open_jobs(viewer: Viewer, parameters: Parameters) -> View:
    """The view for `VIEWS`."""
    return Jobs(parameters.namespace if len(parameters.namespaces) == 1 else "")


def kept_job(job: Json) -> KeptJob:
    """What a row is made from. Pure; raises for a job from which none can be made. Equal texts of a thousand jobs are stored
    once, and the message, which the row does not show, is left out."""
    row, record = overview(job), failure_record(job)
    shared = {field: intern(getattr(row, field) or "") for field in ("kind", "namespace", "reason")}
    kept = KeptJob(
        msgspec.structs.replace(row, message="", **shared),
        requested_ranks(job) or 0,
        record.count if record is not None else 0,
        progress(job),
        is_well(job),
        b"" if row.state == "Succeeded" else zlib.compress(msgspec.json.encode(_slim(job)), 1),
        job["metadata"].get("resourceVersion", ""),
    )
    job_row(kept, None, None)
    return kept


def kept_native(job: Json) -> KeptJob | None:
    """An Indexed Job that belongs to no other object; None for other Kubernetes Jobs."""
    return kept_job(job) if has_ranks(job) and is_standalone(job) else None


def job_row(kept: KeptJob, read: JobReading | None, logged: Progress | None) -> wire.JobRow:
    """The row. Pure. What was read about an older version of the job is shown until it is read again, except the cause if the
    job is in another state now."""
    job = kept.job
    wanted_ranks = read.wanted if read is not None else kept.wanted
    cause = read.why.cause if read is not None and read.state == job.state else None
    return wire.JobRow(
        id=job.uid,
        namespace=job.namespace,
        name=job.name,
        kind=job.kind,
        state=STATES[job.state],
        reason=visible(job.reason),
        up=_up(kept, read, wanted_ranks),
        wanted=wanted_ranks,
        created=_created(kept),
        finished=job.finished.timestamp() if job.finished else 0,
        why=visible(cause.sentence) if cause is not None and job.state != "Succeeded" else "",
        remedy=visible(cause.remedy) if cause is not None and job.state != "Succeeded" else "",
        failures=kept.failures,
        progress=progress_of(kept.progress or logged),
    )


def _up(kept: KeptJob, read: JobReading | None, wanted_ranks: int) -> int | None:
    """From the job's own status until its pods have been read; None while it is unknown."""
    if kept.job.state in FINISHED_STATES:
        return 0
    if read is None:
        return wanted_ranks if kept.is_well else None
    return read.why.up_of(wanted_ranks)


def progress_of(found: Progress | None) -> wire.Progress | None:
    """As sent to the page. A loss that is not finite, which JSON cannot express, is in `not_finite`."""
    if found is None:
        return None
    checkpoint = found.checkpoint
    return wire.Progress(
        position=position_text(found),
        percentage=found.percentage if found.percentage is not None else _percentage(found),
        ends=found.ends.timestamp() if found.ends else 0,
        loss=found.loss if found.loss is not None and isfinite(found.loss) else None,
        not_finite="" if found.loss is None or isfinite(found.loss) else "NaN" if isnan(found.loss) else "infinite",
        checkpoint_step=checkpoint.step if checkpoint is not None else None,
        checkpoint_saved=checkpoint.saved.timestamp() if checkpoint is not None and checkpoint.saved else 0,
        reported=found.reported.timestamp() if found.reported else 0,
        stale_after=found.stale_after.timestamp() if found.stale_after else 0,
        source="log" if found.source == "log" else "report",
    )


def _created(kept: KeptJob) -> float:
    return kept.job.created.timestamp() if kept.job.created else 0


def _percentage(found: Progress) -> int | None:
    return min(100, 100 * found.step // found.steps) if found.step is not None and found.steps else None


def _all(observed: Observed) -> dict[str, KeptJob]:
    return {uid: job for jobs in observed.objects.values() for uid, job in jobs.items()}


def _slim(job: Json) -> Json:
    """Without managedFields."""
    metadata = {field: value for field, value in job["metadata"].items() if field != "managedFields"}
    return {**job, "metadata": metadata}
