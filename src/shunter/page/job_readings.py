"""What the Job view reads beside its watches: why the job does not train, the doctor's verdicts, what its pods use.

No pod is entered and no Secret is read for the page. What takes long to work out for a job of a thousand ranks is done in
threads: meanwhile the page tells all that changes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.doctor.collecting import POD_METRICS, api_evidence
from shunter.doctor.diagnosing import diagnose, diagnose_from_api
from shunter.doctor.verdicts import Report
from shunter.jobs.description import events_about
from shunter.jobs.evidence import completed
from shunter.jobs.failures import why_failed
from shunter.jobs.finding import own_pods
from shunter.jobs.last_log_lines import last_log_lines
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, Forbidden, NotFound
from shunter.operator.causes import Evidence, cause, runs_in_full
from shunter.operator.overview import is_finished, job_state, moment, pod_selector

MOST_LOGS = 32
"""Ranks of a job that runs whose logs the doctor reads; of larger ones it reads them when something is wrong."""
MOST_FAILED_LOGS = 64
"""Ranks whose logs it reads then, those that failed first."""
LOOK_SECONDS = 10.0
"""Between two looks of the doctor at one job, at least."""
LEAST_SECONDS = 2.0
"""The same, where the job has come into another state, or another of its ranks has failed."""
REST = 15.0
"""The same, in times of what the last look took: that of a thousand ranks in trouble takes a second."""
CALM_SECONDS = 60.0
"""The same, of a job that runs in full."""


class Usage(NamedTuple):
    """What a pod uses: cores and bytes."""

    cpu: float
    memory: int


class Diagnosis(NamedTuple):
    """What was found about one version of the job."""

    uid: str
    why: str = ""
    remedy: str = ""
    report: Report | None = None
    unread: tuple[str, ...] = ()
    """Kinds that could not be read."""
    state: str = ""
    """Of the job then: of another state it says nothing. Empty: nothing was found yet."""


class Diagnosing:
    """Looks at one job again and again; the doctor looks less often than what is cheap."""

    def __init__(self) -> None:
        self._last = Diagnosis("")
        self._looked = float("-inf")
        self._took = 0.0
        self._seen: object = None
        self._state: object = None

    async def read(
        self, client: Client, job: Json, pods: Callable[[], Sequence[Json]], events: Sequence[Json] | None
    ) -> Diagnosis:
        """`pods` makes those that are watched, in a thread; `events` are those that are watched, None where they may not be.
        Raises ApiError."""
        uid = job["metadata"]["uid"]
        evidence, is_well = await asyncio.to_thread(_first_evidence, job, pods, events or ())
        if uid != self._last.uid:
            self._last, self._looked = Diagnosis(uid), float("-inf")
        job_is = job_state(job)
        state = (job_is, (job.get("status") or {}).get("rankFailures"))
        seen = _version(job, evidence.pods) if is_finished(job) else None
        if seen is not None and seen == self._seen and state == self._state:
            return self._last
        if not is_finished(job) and not is_well:
            evidence = await completed(client, job, evidence)
        why, remedy = await _why(client, job, evidence)
        report, now = self._last.report if self._last.state == job_is else None, time.monotonic()
        pause = CALM_SECONDS if is_well else max(LOOK_SECONDS, REST * self._took)
        if now - self._looked >= (LEAST_SECONDS if state != self._state else pause):
            self._looked, self._state = now, state
            report = await _report(client, job, evidence, events, is_well=is_well)
            self._took = time.monotonic() - now
        self._seen = seen
        found = Diagnosis(uid, why, remedy, report, tuple(evidence.unread), job_is)
        self._last = found if found != self._last else self._last
        return self._last


def _first_evidence(job: Json, pods: Callable[[], Sequence[Json]], events: Sequence[Json]) -> tuple[Evidence, bool]:
    """What is watched of the job, and whether it runs in full."""
    own = own_pods(job, pods())
    return Evidence(pods=own, events=events), runs_in_full(job, own)


def _version(job: Json, own: Sequence[Json]) -> object:
    """Of a job and its pods; equal where nothing has changed."""
    metadata = job["metadata"]
    return metadata["uid"], metadata.get("resourceVersion"), [(pod["metadata"]["uid"], pod.get("status")) for pod in own]


async def _why(client: Client, job: Json, evidence: Evidence) -> tuple[str, str]:
    """The headline: what keeps the job from training, or why it failed."""
    if job_state(job) == "Failed":
        pods = list(evidence.pods)
        ended = why_failed(job, pods, events_about(job, pods, evidence), await last_log_lines(client, job, pods))
        rank = f"rank {ended.rank}, " if ended.rank is not None and not ended.sentence.startswith("rank ") else ""
        return f"{rank}{ended.sentence}", ended.remedy
    found = await asyncio.to_thread(cause, job, evidence, datetime.now(UTC))
    return (found.sentence, found.remedy) if found is not None else ("", "")


async def _report(
    client: Client, job: Json, evidence: Evidence, events: Sequence[Json] | None, *, is_well: bool
) -> Report | None:
    """The doctor's, from the API and logs; of a large job that runs in full from what is there already. None for one that has
    succeeded, of which there is nothing to say."""
    if job_state(job) == "Succeeded":
        return None
    if is_well and len(evidence.pods) > MOST_LOGS:
        return await asyncio.to_thread(diagnose_from_api, job, evidence, datetime.now(UTC))
    found = await api_evidence(client, job, reads_secrets=False, most_logs=MOST_FAILED_LOGS, events=events)
    return await asyncio.to_thread(diagnose, found, found.at)


async def usage(client: Client, job: Json, pods: Sequence[Json]) -> dict[str, Usage] | None:
    """Of these pods of the job, by their uid, where the cluster serves metrics; None where it does not, or not to this viewer.
    What a pod used that had the name before, or may have, is left out."""
    try:
        page = await client.list(POD_METRICS, job["metadata"]["namespace"], label_selector=pod_selector(job))
    except (NotFound, Forbidden):
        return None
    except ApiError as error:
        if error.code == 503:  # It is registered, and its server does not run.
            return None
        raise
    used = {item["metadata"]["name"]: item for item in page.items}
    pairs = ((pod["metadata"], used.get(pod["metadata"]["name"])) for pod in pods)
    return {metadata["uid"]: _usage(item) for metadata, item in pairs if item is not None and not _is_older(item, metadata)}


def _is_older(item: Json, pod: Json) -> bool:
    """Whether what was measured ended before the pod of this metadata was made."""
    measured, made = moment(item.get("timestamp")), moment(pod.get("creationTimestamp"))
    return measured is not None and made is not None and measured < made


def _usage(item: Json) -> Usage:
    used = [one.get("usage") or {} for one in item.get("containers") or ()]
    return Usage(
        cpu=float(sum(parse(one.get("cpu", 0)) for one in used)), memory=int(sum(parse(one.get("memory", 0)) for one in used))
    )
