"""The view of one job: its head, ranks, verdicts, timeline, curves and checkpoints.

The job and its pods are watched, and shown at once. Causes, verdicts, logs and usage are read shortly after a change, or every
few seconds.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import CORE_EVENTS, JOBSETS, POD_LOGS, PODS, Resource
from shunter.doctor.collecting import POD_METRICS
from shunter.errors import InputError
from shunter.jobs.curves import with_report
from shunter.jobs.description import own_events
from shunter.jobs.differing_ranks import Difference, differing_ranks, paces
from shunter.jobs.evidence import JobCause
from shunter.jobs.logs.progress import progress_in_log
from shunter.jobs.logs.reading import RankLogs, no_answer
from shunter.jobs.lookup import resource_of_kind
from shunter.jobs.metrics import Series
from shunter.jobs.pods_up import requested_ranks
from shunter.jobs.timeline import is_relevant
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden
from shunter.launch.checkpoints.location import checkpoint_location
from shunter.launch.checkpoints.saved import SavedStep, saved_steps
from shunter.operator.overview import is_finished, is_v2, job_state, pod_selector
from shunter.operator.restarts import is_jobset_of
from shunter.operator.training_progress import Progress, progress
from shunter.page.actions import Commands, allowed_verbs, get_command, offered
from shunter.page.job_readings import Diagnosing, Diagnosis, Usage, usage
from shunter.page.views.job_head import Context, job_detail, with_why
from shunter.page.views.job_rows import checkpoint_rows, series_rows, timeline_rows, verdict_rows
from shunter.page.views.jobs import JobReading, KeptJob, job_row, kept_job
from shunter.page.views.rank_rows import KeptPod, RankRows, kept_pod, pods_of_rows
from shunter.page.views.view import Observed, Parameters, Reading, Rows, View, Viewer, Watch
from shunter.page.wire import CheckpointRow, TimelineRow

SETTLE_SECONDS = 0.5
DIAGNOSIS_SECONDS = 15.0
USAGE_SECONDS = 15.0
LOG_SECONDS = 5.0
CHECKPOINT_SECONDS = 10.0
VERBS_SECONDS = 60.0
MOST_RANKS = 64
"""How many ranks' logs are read for steps and curves: the lowest."""
FIRST_LINES = 20_000
"""How many of its last log lines are read of the lowest rank, whose curve is drawn."""
OTHER_LINES = 500
"""The same for each other rank."""
_NO_LOGS = "Logs, and curves that come only from logs, are not shown."
_RANKS = "The ranks of this job are not shown."


class Logged(NamedTuple):
    """What was read from logs and reports so far."""

    uid: str = ""
    """The uid of the job."""
    by_rank: Mapping[int, Sequence[Series]] = {}
    followed: Collection[int] = ()
    """Ranks whose logs are read."""
    reported: Sequence[Series] = ()
    progress: Progress | None = None
    is_refused: bool = False
    silent: Collection[int] = ()
    """Ranks whose nodes do not respond, so that their logs were not read on."""


class KeptEvent(NamedTuple):
    """What is kept of an event."""

    object: Json
    may_tell: bool
    """It may be in the timeline; most of the thousands about a large job's pods are not."""


class JobView:
    """The view of the job of one name."""

    def __init__(self, viewer: Viewer, resource: Resource, namespace: str, name: str) -> None:
        self._viewer = viewer
        self._resource = resource
        self._namespace = namespace
        self._name = name
        self._shared: dict[bytes, Any] = {}
        stub = resource.typed({"metadata": {"name": name}})
        named = f"metadata.name={name}"
        watches = [
            Watch(
                "job", resource, self._kept, ("job",), "This job is not shown.", namespace, field_selector=named, is_subject=True
            ),
            Watch("pods", PODS, self._kept_pod, ("ranks",), _RANKS, namespace, label_selector=pod_selector(stub)),
            Watch("events", CORE_EVENTS, self._kept_event, ("timeline",), "The timeline has no events.", namespace),
        ]
        if is_v2(stub):
            consequence = "Its number of ranks and its restarts may be unknown."
            watches.append(Watch("jobset", JOBSETS, _slim, ("job",), consequence, namespace, field_selector=named))
        self.watches = tuple(watches)
        self.readings = (
            Reading("diagnosis", self._diagnosed, DIAGNOSIS_SECONDS, settle=SETTLE_SECONDS),
            Reading("usage", self._used, USAGE_SECONDS, (POD_METRICS,), "CPU and memory usage of its ranks is not shown."),
            Reading("logs", self._logged, LOG_SECONDS, (POD_LOGS,), _NO_LOGS, no_answer="the nodes of its pods do not respond"),
            Reading("checkpoints", self._saved, CHECKPOINT_SECONDS),
            Reading("verbs", self._verbs, VERBS_SECONDS),
        )
        self._ranks = RankRows()
        self._diagnosing = Diagnosing()
        self._reported: Sequence[Series] = ()
        self._begin_logs("")
        self._logged_version: object = None
        self._logged_last = Logged()
        self._shown: dict[str, tuple[Any, Any]] = {}

    def rows(self, observed: Observed, now: float) -> Rows:
        """All collections are empty while there is no job of this name; `ranks` also if the viewer may not list pods."""
        job = _newest(observed.objects["job"])
        if job is None:
            return {"job": (), "ranks": (), "verdicts": (), "timeline": (), "series": (), "checkpoints": ()}
        jobset = self._jobset(observed, job)
        diagnosis = _of(observed.readings.get("diagnosis"), job)
        logged: Logged = observed.readings.get("logs", _NOT_LOGGED)
        if logged.uid != job["metadata"]["uid"]:
            logged = _NOT_LOGGED
        pace = self._once("paces", logged, lambda: paces(logged.by_rank, logged.followed))
        wanted_ranks = requested_ranks(job, jobset)
        may_read = "pods" not in observed.refused
        if not may_read:
            self._ranks = RankRows()
        ranks = self._ranks.project(job, observed.objects["pods"], wanted_ranks or 1) if may_read else []
        differing: list[Difference] = differing_ranks(self._ranks.states, pace)
        used: Mapping[str, Usage] = observed.readings.get("usage") or {}
        running = self._ranks.up(job) if may_read else None
        kept = self._kept_job(job)
        read = JobReading("", kept.job.state, JobCause(None, up=running), wanted_ranks or 0)
        row = job_row(kept, read, logged.progress)
        commands = Commands(self._viewer.page.options, self._viewer.page.kubectl)
        context = Context(
            jobset=jobset,
            rank_restarts=sum(state.restarts for state in self._ranks.states),
            differing=differing,
            actions=() if self._viewer.page.is_read_only else offered(job, observed.readings.get("verbs", ()), commands),
            kubectl=get_command(job, commands),
            notes=(
                ("Logs", "you may not read the logs of these pods" if logged.is_refused else no_answer(logged.silent)),
                ("Not checked", diagnosis.not_checked),
            ),
        )
        return {
            "job": (job_detail(with_why(row, diagnosis.why, diagnosis.remedy), job, context),),
            "ranks": self._ranks.measured(ranks, pace, used, differing),
            "verdicts": self._once("verdicts", diagnosis, lambda: verdict_rows(diagnosis.report, diagnosis.log_ranks)),
            "timeline": self._timeline(observed, job),
            "series": self._once("series", logged, lambda: series_rows(logged.reported, logged.by_rank)),
            "checkpoints": self._checkpoints(observed, job, logged),
        }

    def _once(self, name: str, key: Any, made: Any) -> Any:
        """The result of `made`, called again only if `key` is another object than at the last call for this name."""
        before = self._shown.get(name)
        if before is None or before[0] is not key:
            before = self._shown[name] = key, made()
        return before[1]

    def _kept_job(self, job: Json) -> KeptJob:
        found: KeptJob = self._once("kept", job, lambda: kept_job(job))
        return found

    def _timeline(self, observed: Observed, job: Json) -> list[TimelineRow]:
        uid = job["metadata"]["uid"]
        events = [one.object for one in observed.objects["events"].values() if one.may_tell and is_relevant(one.object, uid)]
        pods, children = observed.objects["pods"], [*observed.objects.get("jobset", {}).values()]
        values, objects = (uid, job.get("status") or {}, [*pods]), (events, children)
        before = self._shown.get("timeline")
        if before is None or before[0][0] != values or not all(map(_are_same, before[0][1], objects)):
            own = [one for one in children if is_jobset_of(job, one)]
            made = timeline_rows(job, own_events(job, pods_of_rows(pods.values()), events, own))
            before = self._shown["timeline"] = (values, objects), made
        found: list[TimelineRow] = before[1]
        return found

    def _checkpoints(self, observed: Observed, job: Json, logged: Logged) -> list[CheckpointRow]:
        saved: Sequence[SavedStep] = observed.readings.get("checkpoints", ())
        place = checkpoint_location(job) if is_v2(job) else None
        latest = self._kept_job(job).progress or logged.progress
        reported = latest.checkpoint if latest is not None else None
        return checkpoint_rows(saved, reported, place.title if place is not None else "")

    def _jobset(self, observed: Observed, job: Json) -> Json | None:
        found = observed.objects.get("jobset", {})
        return next((one for one in found.values() if is_jobset_of(job, one)), None)

    def _kept(self, job: Json) -> Json:
        """The job. Raises for a job from which no row can be made, so that the page names it."""
        slim = _slim(job)
        job_detail(job_row(self._kept_job(slim), None, None), slim, Context())
        return slim

    def _kept_pod(self, pod: Json) -> KeptPod:
        return kept_pod(pod, self._shared)

    def _kept_event(self, event: Json) -> KeptEvent | None:
        """An event about the job, or an object whose name begins with the job's; None for others in the namespace."""
        event["metadata"].pop("managedFields", None)
        about = event.get("involvedObject", {})
        may_tell = event.get("type") == "Warning" or about.get("kind") != PODS.kind
        return KeptEvent(event, may_tell) if str(about.get("name", "")).startswith(self._name) else None

    # Readings.

    async def _diagnosed(self, client: Client, observed: Observed) -> Diagnosis:
        job = _newest(observed.objects["job"])
        if job is None:
            return Diagnosis("")
        kept = [*observed.objects["pods"].values()]
        may_read = "events" not in observed.refused
        events = [one.object for one in observed.objects["events"].values()] if may_read else None
        return await self._diagnosing.read(client, job, lambda: pods_of_rows(kept), events)

    async def _used(self, client: Client, observed: Observed) -> Mapping[str, Usage] | None:
        job = _newest(observed.objects["job"])
        pods = pods_of_rows(observed.objects["pods"].values())
        return await usage(client, job, pods) if job is not None and not is_finished(job) else {}

    async def _logged(self, client: Client, observed: Observed) -> Logged:
        """Reads what is new in the logs of the lowest ranks; for a finished job only after the job or one of its pods changed."""
        job = _newest(observed.objects["job"])
        if job is None:
            return Logged()
        version = (job["metadata"].get("resourceVersion"), [*observed.objects["pods"].values()]) if is_finished(job) else None
        if version is None or version != self._logged_version:
            self._logged_last = await self._read_logs(client, observed, job)
            self._logged_version = None if self._logged_last.is_refused or self._logged_last.silent else version
        return self._logged_last

    async def _read_logs(self, client: Client, observed: Observed, job: Json) -> Logged:
        if job["metadata"]["uid"] != self._logs_of:
            self._begin_logs(job["metadata"]["uid"])
        self._reported = with_report(self._reported, job)
        pods = self._ranks.lowest(job, observed.objects["pods"], MOST_RANKS)
        first, *others = [*pods] or [0]
        try:
            await asyncio.gather(self._first_log.read(pods, [first]), self._other_logs.read(pods, others))
            silent = {*self._first_log.silent, *self._other_logs.silent}
            is_needed = progress(job) is None and first in pods and first not in silent
            logged = await progress_in_log(client, pods[first]) if is_needed else None
        except Forbidden:
            return Logged(self._logs_of, reported=self._reported, is_refused=True)
        # `_first_log` may also have read another rank, while the pod of a lower one was missing: that report is out of date.
        lowest, reports = self._first_log.reports(), self._other_logs.reports()
        reports = {**lowest, **reports, **{rank: lowest[rank] for rank in [first] if rank in lowest}}
        by_rank = {rank: report.series for rank, report in sorted(reports.items())}
        return Logged(self._logs_of, by_rank, (first, *others), self._reported, logged, silent=silent)

    def _begin_logs(self, uid: str) -> None:
        """Starts reading logs of the job with this uid: a job that was created again under the same name has its own logs."""
        self._logs_of = uid
        self._first_log = RankLogs(self._viewer.client, most_lines=FIRST_LINES)
        self._other_logs = RankLogs(self._viewer.client, most_lines=OTHER_LINES)
        self._reported = ()

    async def _saved(self, client: Client, observed: Observed) -> Sequence[SavedStep]:
        """Checkpoints on this machine, for a job of its embedded cluster; none for others."""
        job = _newest(observed.objects["job"])
        if job is None or not self._viewer.page.is_embedded or not is_v2(job):
            return ()
        place = checkpoint_location(job)
        return saved_steps(place.directory) if place is not None and place.directory is not None else ()

    async def _verbs(self, client: Client, observed: Observed) -> frozenset[str]:
        return await allowed_verbs(client, self._resource, self._namespace)


def open_job(viewer: Viewer, parameters: Parameters) -> View:
    """The view for `VIEWS`."""
    if not parameters.kind or not parameters.name or len(parameters.namespaces) != 1:
        raise InputError("the view of a job needs its namespace, kind and name.")
    return JobView(viewer, resource_of_kind(parameters.kind), parameters.namespace, parameters.name)


def _slim(obj: Json) -> Json:
    obj["metadata"].pop("managedFields", None)
    return obj


def _are_same(before: Sequence[Json], now: Sequence[Json]) -> bool:
    """Whether both contain the same objects, by identity. The caller keeps `before`, so no id is reused."""
    return len(before) == len(now) and all(map(operator.is_, before, now))


def _newest(jobs: Mapping[str, Json]) -> Json | None:
    """The newest job: when a job is deleted and created again, both may be present for a moment."""
    return max(jobs.values(), key=lambda job: str(job["metadata"].get("creationTimestamp", "")), default=None)


def _of(diagnosis: Diagnosis | None, job: Json) -> Diagnosis:
    """The diagnosis, if it is about this job in its current state; an empty one otherwise."""
    if diagnosis is None or diagnosis.uid != job["metadata"]["uid"] or diagnosis.state != job_state(job):
        return _NOTHING
    return diagnosis


_NOTHING = Diagnosis("")
_NOT_LOGGED = Logged()
