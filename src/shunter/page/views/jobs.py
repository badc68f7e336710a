"""The list of all jobs: a row each, by the same functions as `shunter jobs`.

The job alone tells state, failures and reported progress, at once. Why a job does not train, how many of its ranks are up and
what logs tell is read for those that need it, shortly after they change and every few seconds while they do not run in full.
"""

from __future__ import annotations

import heapq
import time
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import inf, isfinite, isnan
from sys import intern
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import CORE_EVENTS, JOBS, JOBSETS, PODS
from shunter.jobs.evidence import JobCause, why_of_all
from shunter.jobs.failure_record import failure_record
from shunter.jobs.jobsets import jobsets_of_all
from shunter.jobs.logs.progress import LOGGED_STATES, MOST_JOBS, progress_in_logs
from shunter.jobs.logs.visible_text import visible
from shunter.jobs.pods_up import is_well, wanted
from shunter.kube.client import Client
from shunter.operator.native_jobs import NOT_OF_JOBSETS, has_ranks, stands_alone
from shunter.operator.overview import FINISHED_STATES, SHOWN_RESOURCES, Overview, is_v2, overview
from shunter.operator.training_progress import Progress, progress
from shunter.page import wire
from shunter.page.views.view import Observed, Parameters, Reading, Rows, View, Viewer, Watch

WHY_SECONDS = 5.0
"""How often jobs that do not run in full are looked at without a change of their own: their pods are not watched here."""
LOG_SECONDS = 15.0
"""How often a log is read that tells how far its job is."""
LONGEST_LOG_SECONDS = 960.0
"""One that does not is read ever more seldom, down to this."""
LONGEST_LAST_SECONDS = 60.0
"""The log of a job that has failed says the same for ever: it is read no more once it has told something, or for so long not."""
LOGS_AT_ONCE = 4
"""Of jobs whose logs have told nothing yet, at each time; one every `LOG_SECONDS`, once so many as are read first have told
nothing, one after another: programs that print nothing of the kind must not keep a page busy that nobody looks at."""
SETTLE_SECONDS = 0.3
"""A job, its pods and events change one after another."""
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
    """What stays of a job."""

    job: Overview
    wanted: int
    failures: int
    progress: Progress | None
    is_well: bool
    """Its own status says that all its ranks run, and none has failed."""
    packed: bytes
    """The job as JSON, compressed; empty for one that has succeeded, of which nothing more is read."""
    version: str

    @property
    def object(self) -> Json:
        """The job, of which more is to be read."""
        found: Json = msgspec.json.decode(zlib.decompress(self.packed))
        return found


class JobReading(NamedTuple):
    """What was read about one version of a job."""

    version: str
    state: str
    """Of the job then: of one that is in another state now, the cause says nothing."""
    why: JobCause
    wanted: int


class LogTime(NamedTuple):
    """When a job's log is to be read again."""

    due: float = -inf
    """By the monotonic clock."""
    pause: float = LOG_SECONDS
    state: str = ""
    """Of the job when it was read: one that has failed since is read at once."""


class MadeRow(NamedTuple):
    """A row, and what it was made of."""

    kept: KeptJob
    read: JobReading | None
    told: Progress | None
    row: wire.JobRow


class Jobs:
    """The view. It remembers which versions of jobs were read about."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._read: dict[str, JobReading] = {}
        self._rows: dict[str, MadeRow] = {}
        self._told: dict[str, Progress] = {}
        self._log_times: dict[str, LogTime] = {}
        self._in_vain = 0
        """Logs that told nothing since one last told something."""
        self._next_in_vain = -inf
        """When the next log is read that tells nothing, as so many before; by the monotonic clock."""
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
                self._why,
                WHY_SECONDS,
                (PODS, CORE_EVENTS, JOBSETS),
                "Why jobs do not train, and how many of their ranks are up, is not known.",
                SETTLE_SECONDS,
            ),
            Reading("logs", self._logged, WHY_SECONDS),
        )

    def rows(self, observed: Observed, now: float) -> Rows:
        """Only what has changed is made again."""
        why: Mapping[str, JobReading] = observed.readings.get("why", {})
        logged: Mapping[str, Progress] = observed.readings.get("logs", {})
        fresh: dict[str, MadeRow] = {}
        for jobs in observed.objects.values():
            for uid, kept in jobs.items():
                read, told = why.get(uid), logged.get(uid)
                made = self._rows.get(uid)
                if made is None or made.kept is not kept or made.read is not read or made.told is not told:
                    made = MadeRow(kept, read, told, job_row(kept, read, told))
                fresh[uid] = made
        self._rows = fresh
        return {"jobs": [made.row for made in fresh.values()]}

    async def _why(self, client: Client, observed: Observed) -> dict[str, JobReading]:
        kept = _all(observed)
        doubtful = {uid: job for uid, job in kept.items() if job.packed and self._is_to_read(uid, job)}
        objects = [job.object for job in doubtful.values()]
        found = await why_of_all(client, objects, self._namespace, datetime.now(UTC)) if objects else {}
        jobsets = await jobsets_of_all(client, [one for one in objects if is_v2(one)], self._namespace) if objects else {}
        read = {uid: old for uid, old in self._read.items() if uid in kept}
        for one in objects:
            uid = one["metadata"]["uid"]
            why, job = found.get(uid, JobCause(None)), doubtful[uid]
            fresh = JobReading(job.version, job.job.state, why, wanted(one, jobsets.get(uid)) or 0)
            # A row is made again only for what has changed.
            read[uid] = old if (old := read.get(uid)) == fresh else fresh
        # Where nothing has changed the very result of before tells that no row has to be looked at.
        self._read = read if read != self._read else self._read
        return self._read

    def _is_to_read(self, uid: str, job: KeptJob) -> bool:
        """A job that has failed, is suspended or runs in full says all there is to say once."""
        old = self._read.get(uid)
        if old is None or old.version != job.version:
            return True
        return job.job.state not in FINISHED_STATES and not (job.is_well and old.why.is_all_up)

    async def _logged(self, client: Client, observed: Observed) -> dict[str, Progress]:
        """Of jobs that report nothing those whose logs have not been read for longest, a few at a time."""
        silent = self._silent(observed)
        if not self._told.keys() <= silent.keys():
            self._told = {uid: told for uid, told in self._told.items() if uid in silent}
        now = time.monotonic()
        due = self._due(silent, now)
        found: dict[str, Progress] = {}
        for first in range(0, len(due), LOGS_AT_ONCE):
            some = [silent[uid].object for uid in due[first : first + LOGS_AT_ONCE]]
            found |= (await progress_in_logs(client, some)).found
        self._note_told(silent, due, found, now)
        return self._told

    def _silent(self, observed: Observed) -> dict[str, KeptJob]:
        """The jobs that run, or have failed, and report nothing: only their logs say how far they are, or came."""
        return {uid: job for uid, job in _all(observed).items() if job.job.state in LOGGED_STATES and job.progress is None}

    def _note_told(self, silent: Mapping[str, KeptJob], due: Sequence[str], found: Mapping[str, Progress], now: float) -> None:
        """What logs told, and when those that were read are to be read again."""
        for uid in due:
            told, pause = found.get(uid), self._log_times.get(uid, LogTime()).pause
            self._in_vain = 0 if told is not None else self._in_vain + 1
            pause = LOG_SECONDS if told is not None else min(2 * pause, LONGEST_LOG_SECONDS)
            has_all = not silent[uid].job.is_running and (told is not None or pause > LONGEST_LAST_SECONDS)
            self._log_times[uid] = LogTime(inf if has_all else now + pause, pause, silent[uid].job.state)
            if told is not None and told != self._told.get(uid):
                self._told = {**self._told, uid: told}

    def _due(self, silent: Mapping[str, KeptJob], now: float) -> list[str]:
        """Of which jobs logs are read now: those that told something when it is time again, those that are due for longest
        first, and a few of the others, running ones first, then the newest; the first time as many as `shunter jobs` reads."""
        is_first = not self._log_times
        self._log_times = {uid: at for uid, at in self._log_times.items() if uid in silent and at.state == silent[uid].job.state}
        times = {uid: self._log_times.get(uid, LogTime()).due for uid in silent}
        due = [uid for uid, at in times.items() if now >= at]
        told = heapq.nsmallest(MOST_JOBS, (uid for uid in due if uid in self._told), key=times.__getitem__)
        if self._in_vain < MOST_JOBS:
            most = MOST_JOBS if is_first else LOGS_AT_ONCE
        elif now < self._next_in_vain:
            return told
        else:
            most, self._next_in_vain = 1, now + LOG_SECONDS
        others = heapq.nsmallest(
            most,
            (uid for uid in due if uid not in self._told),
            key=lambda uid: (times[uid], not silent[uid].job.is_running, -_created(silent[uid])),
        )
        return [*told, *others]


def open_jobs(viewer: Viewer, parameters: Parameters) -> View:
    """The view for `VIEWS`."""
    return Jobs(parameters.namespace if len(parameters.namespaces) == 1 else "")


def kept_job(job: Json) -> KeptJob:
    """What rows are made of. Pure; fails for a job of which none can be made. A thousand jobs share the texts that they have in
    common, and the row shows no message."""
    row, record = overview(job), failure_record(job)
    shared = {field: intern(getattr(row, field) or "") for field in ("kind", "namespace", "reason")}
    kept = KeptJob(
        msgspec.structs.replace(row, message="", **shared),
        wanted(job) or 0,
        record.count if record is not None else 0,
        progress(job),
        is_well(job),
        b"" if row.state == "Succeeded" else zlib.compress(msgspec.json.encode(_slim(job)), 1),
        job["metadata"].get("resourceVersion", ""),
    )
    job_row(kept, None, None)
    return kept


def kept_native(job: Json) -> KeptJob | None:
    """Of Kubernetes' own Jobs those that number their pods and are no part of something else."""
    return kept_job(job) if has_ranks(job) and stands_alone(job) else None


def job_row(kept: KeptJob, read: JobReading | None, logged: Progress | None) -> wire.JobRow:
    """The row. Pure. What was read about an older version of the job stays until it is read again, but for the cause of a state
    that has passed."""
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
    """By the job's own status until its pods have been read; None where neither tells."""
    if kept.job.state in FINISHED_STATES:
        return 0
    if read is None:
        return wanted_ranks if kept.is_well else None
    return read.why.up_of(wanted_ranks)


def progress_of(found: Progress | None) -> wire.Progress | None:
    """As the page shows it; a loss that is no number is left out of JSON, which has no word for it."""
    if found is None:
        return None
    checkpoint = found.checkpoint
    return wire.Progress(
        step=found.step,
        steps=found.steps,
        share=found.percentage / 100 if found.percentage is not None else _share(found),
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


def _share(found: Progress) -> float | None:
    return found.step / found.steps if found.step is not None and found.steps else None


def _all(observed: Observed) -> dict[str, KeptJob]:
    return {uid: job for jobs in observed.objects.values() for uid, job in jobs.items()}


def _slim(job: Json) -> Json:
    """Without what nobody asks for."""
    metadata = {field: value for field, value in job["metadata"].items() if field != "managedFields"}
    return {**job, "metadata": metadata}
