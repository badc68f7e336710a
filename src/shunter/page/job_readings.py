"""What the Job view reads besides its watches: why the job does not train, the doctor's verdicts, the usage of its pods.

It runs nothing in pods and reads no Secrets. What takes long for a job of a thousand ranks is computed in threads, so that the
page sends changes meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.collecting import POD_METRICS, api_evidence
from shunter.doctor.diagnosing import diagnose, evidence_from_api
from shunter.doctor.verdicts import Report
from shunter.jobs.description import events_about
from shunter.jobs.evidence import completed
from shunter.jobs.failures import failure_cause
from shunter.jobs.last_log_lines import last_log_lines
from shunter.jobs.lookup import own_pods
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, Forbidden, NotFound
from shunter.operator.causes import Evidence, cause, runs_in_full
from shunter.operator.overview import is_finished, job_state, moment, pod_selector

MOST_LOGS = 32
"""The doctor reads the logs of a job whose ranks are all up only if it has no more ranks than this."""
MOST_FAILED_LOGS = 64
"""How many ranks' logs the doctor reads, failed ranks first."""
DIAGNOSIS_SECONDS = 10.0
"""The pause between two diagnoses of a job, at least."""
STATE_CHANGE_SECONDS = 2.0
"""The same after the job has changed its state, or another rank has failed."""
PAUSE_FACTOR = 15.0
"""The same as a multiple of the last diagnosis's duration, which is a second for a thousand ranks with problems."""
ALL_UP_SECONDS = 60.0
"""The same for a job whose ranks are all up."""
REPORT_SECONDS = 50.0
"""How long a diagnosis may take with its report: more than a log that does not come (`client.LOG_SECONDS`), and less than
`slow_readings.LONGEST_SECONDS`, after which the whole reading has failed."""
LONGEST_PAUSE_SECONDS = 120.0
"""The longest pause between two diagnoses: one that waits for a node takes long without load."""


class Usage(NamedTuple):
    """What a pod uses: cores, and bytes of memory."""

    cpu: float
    memory: int


class Diagnosis(NamedTuple):
    """The diagnosis of one version of the job."""

    uid: str
    why: str = ""
    remedy: str = ""
    report: Report | None = None
    unread: tuple[str, ...] = ()
    """Kinds that could not be read."""
    log_ranks: Mapping[int, int] = {}
    """`Case.log_ranks` of the report."""
    state: str = ""
    """The state of the job at that time; the diagnosis is not shown in another. Empty: there is none yet."""
    not_checked: str = ""
    """Why the doctor's last run has no report; empty if it has one."""


class Diagnosing:
    """Diagnoses one job repeatedly: its cause each time, the doctor's verdicts, which cost more, less often."""

    def __init__(self) -> None:
        self._last = Diagnosis("")
        self._diagnosed = float("-inf")
        """When the doctor ran last; monotonic clock, seconds."""
        self._took = 0.0
        """How long that took, in seconds."""
        self._not_checked = ""
        """Why that gave no report."""
        self._version: object = None
        """Of the finished job and its pods, as of the last call."""
        self._state: object = None
        """The job's state and failures when the doctor ran last."""

    async def read(
        self, client: Client, job: Json, pods: Callable[[], Sequence[Json]], events: Sequence[Json] | None
    ) -> Diagnosis:
        """`pods` returns the watched pods, and is called in a thread; `events` are the watched events, None if the viewer may not
        read them. Raises ApiError."""
        uid = job["metadata"]["uid"]
        limit = asyncio.timeout_at(asyncio.get_running_loop().time() + REPORT_SECONDS)
        evidence, is_well = await asyncio.to_thread(_first_evidence, job, pods, events or ())
        if uid != self._last.uid:
            self._last, self._diagnosed, self._not_checked = Diagnosis(uid), float("-inf"), ""
        current = job_state(job)
        state = (current, (job.get("status") or {}).get("rankFailures"))
        version = _version(job, evidence.pods) if is_finished(job) else None
        if version is not None and version == self._version and state == self._state and not self._not_checked:
            return self._last
        if not is_finished(job) and not is_well:
            evidence = await completed(client, job, evidence)
        why, remedy = await _why(client, job, evidence)
        report, log_ranks = (self._last.report, self._last.log_ranks) if self._last.state == current else (None, {})
        now = time.monotonic()
        pause = ALL_UP_SECONDS if is_well else min(max(DIAGNOSIS_SECONDS, PAUSE_FACTOR * self._took), LONGEST_PAUSE_SECONDS)
        if now - self._diagnosed >= (STATE_CHANGE_SECONDS if state != self._state else pause):
            self._diagnosed, self._state = now, state
            # The cause is shown without the report if that takes long: a frozen node does not answer with logs.
            self._not_checked = ""
            try:
                async with limit:
                    report, log_ranks = await _report(client, job, evidence, events, is_well=is_well)
            except TimeoutError:
                if not limit.expired():
                    raise
                self._not_checked = f"the doctor had no answer within {REPORT_SECONDS:g} s"
            self._took = time.monotonic() - now
        self._version = version
        found = Diagnosis(uid, why, remedy, report, tuple(evidence.unread), log_ranks, current, self._not_checked)
        self._last = found if found != self._last else self._last
        return self._last


def _first_evidence(job: Json, pods: Callable[[], Sequence[Json]], events: Sequence[Json]) -> tuple[Evidence, bool]:
    """The watched pods and events of the job, and whether all its ranks are up."""
    own = own_pods(job, pods())
    return Evidence(pods=own, events=events), runs_in_full(job, own)


def _version(job: Json, own: Sequence[Json]) -> object:
    """A value that changes with the job and its pods."""
    metadata = job["metadata"]
    return metadata["uid"], metadata.get("resourceVersion"), [(pod["metadata"]["uid"], pod.get("status")) for pod in own]


async def _why(client: Client, job: Json, evidence: Evidence) -> tuple[str, str]:
    """Sentence and remedy: why the job does not train, or why it failed; empty if it trains."""
    if job_state(job) == "Failed":
        pods = list(evidence.pods)
        ended = failure_cause(job, pods, events_about(job, pods, evidence), await last_log_lines(client, job, pods))
        rank = f"rank {ended.rank}, " if ended.rank is not None and not ended.sentence.startswith("rank ") else ""
        return f"{rank}{ended.sentence}", ended.remedy
    found = await asyncio.to_thread(cause, job, evidence, client.now())
    return (found.sentence, found.remedy) if found is not None else ("", "")


async def _report(
    client: Client, job: Json, evidence: Evidence, events: Sequence[Json] | None, *, is_well: bool
) -> tuple[Report | None, Mapping[int, int]]:
    """The doctor's report from API objects and logs; for a large job whose ranks are all up from the given evidence only. None
    for a succeeded job. With its `Case.log_ranks`."""
    if job_state(job) == "Succeeded":
        return None, {}
    if is_well and len(evidence.pods) > MOST_LOGS:
        found = evidence_from_api(job, evidence, client.now())
    else:
        found = await api_evidence(client, job, reads_secrets=False, most_logs=MOST_FAILED_LOGS, events=events)
    return await asyncio.to_thread(lambda: (diagnose(found, found.at), Case(found, found.at).log_ranks))


async def usage(client: Client, job: Json, pods: Sequence[Json]) -> dict[str, Usage] | None:
    """The usage of these pods of the job, by uid; None if the cluster serves no metrics, or not to this viewer. Metrics that may
    be those of an earlier pod of the same name are left out."""
    try:
        page = await client.list(POD_METRICS, job["metadata"]["namespace"], label_selector=pod_selector(job))
    except (NotFound, Forbidden):
        return None
    except ApiError as error:
        if error.code == 503:  # The API is registered, but its server is not running.
            return None
        raise
    used = {item["metadata"]["name"]: item for item in page.items}
    pairs = ((pod["metadata"], used.get(pod["metadata"]["name"])) for pod in pods)
    return {metadata["uid"]: _usage(item) for metadata, item in pairs if item is not None and not _is_older(item, metadata)}


def _is_older(item: Json, pod: Json) -> bool:
    """Whether the metrics were measured before the pod with this metadata was created."""
    measured, made = moment(item.get("timestamp")), moment(pod.get("creationTimestamp"))
    return measured is not None and made is not None and measured < made


def _usage(item: Json) -> Usage:
    used = [one.get("usage") or {} for one in item.get("containers") or ()]
    return Usage(
        cpu=float(sum(parse(one.get("cpu", 0)) for one in used)), memory=int(sum(parse(one.get("memory", 0)) for one in used))
    )
