"""Reads the evidence for why jobs do not train (`operator.causes`), with as few lists as possible, and none for healthy jobs.

Of many jobs pods are listed once, if one of them is neither finished nor suspended; those that failed, if a job failed that keeps
no record of it; events, JobSets and Jobs only if a job does not run in full and its pods do not say why; Workloads only for jobs
that wait in a queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

import msgspec

from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.api.resources import CORE_EVENTS, JOBS, JOBSETS, PODS, Resource
from shunter.api.scheduling import kueue
from shunter.jobs.failure_record import failure_record
from shunter.jobs.failures import failure_cause, missed_deadline
from shunter.jobs.pods_up import UP_PHASES, is_well, up
from shunter.kube.client import Client
from shunter.kube.discovery import served_versions
from shunter.kube.errors import ApiError, ConnectionProblem, NotFound
from shunter.operator.causes import Cause, Evidence, Position, cause, runs_in_full, unread
from shunter.operator.causes.queue import own_workload, queue_name
from shunter.operator.native_jobs import JOB_NAME, NOT_OF_JOBSETS, is_native
from shunter.operator.overview import (
    FINISHED_STATES,
    V1_JOB,
    V2_JOB,
    is_finished,
    is_pod_of,
    is_suspended,
    is_v2,
    job_state,
    overview,
    pod_selector,
)

NATIVE_PODS = f"{JOB_NAME},{NOT_OF_JOBSETS}"
"""Selects the pods of all Jobs of Kubernetes; `V1_JOB` and `V2_JOB` select those of all v1 jobs, and of all TrainJobs."""
NOT_UP = ",".join(f"status.phase!={phase}" for phase in UP_PHASES)
"""Selects pods that do not run, and have not succeeded."""
HAVE_FAILED = "status.phase=Failed"
FEW = 8
"""Up to so many namespaces, or pods of jobs, are listed one by one; more by one list of all."""
VISIBILITY_VERSIONS = ("v1beta2", "v1beta1", "v1alpha1")
VISIBILITY_SECONDS = 5.0
"""The timeout for Kueue's own API server, which may be down."""
PENDING_PAGE = 1000


class MetadataFields(TypedDict, total=False):
    """Keys as in JSON; one that the object lacks is missing here too."""

    name: str
    namespace: str
    uid: str
    creationTimestamp: str | None
    deletionTimestamp: str
    labels: dict[str, str]
    ownerReferences: list[Json]


class VariableFields(TypedDict, total=False):
    """The name alone: values, among them secrets, are not kept."""

    name: str


class ContainerFields(TypedDict, total=False):
    """Only the name of a container and those of its variables."""

    name: str
    env: list[VariableFields]


class SpecFields(TypedDict, total=False):
    """Where a pod runs and what may hold it back: its scheduler, its group, its gates."""

    containers: list[ContainerFields]
    nodeName: str
    schedulerName: str
    schedulingGroup: Json
    schedulingGates: list[Json]


class PodFields(TypedDict, total=False):
    """The fields of a pod on which causes depend: of thousands of pods the rest is not worth decoding."""

    metadata: MetadataFields
    spec: SpecFields
    status: Json


class JobCause(NamedTuple):
    """What keeps a job from training, or why it failed, and which kinds could not be read that might contain the cause."""

    cause: Cause | None
    unread: tuple[str, ...] = ()
    up: int | None = 0
    """Ranks whose pod runs, unless all of them do: see `up_of`. None where pods could not be read."""
    is_all_up: bool = False
    """Whether all ranks run by the job's own status, and no pod of it is in another phase: then no more was read."""

    def up_of(self, wanted: int | None) -> int | None:
        """Ranks whose pod runs, of the requested ones; None if unknown."""
        return wanted if self.is_all_up else self.up


async def job_causes(client: Client, jobs: Sequence[Json], namespace: str, now: datetime) -> dict[str, JobCause]:
    """The cause of each job that has not succeeded, by its uid."""
    reader = _Reader(client)
    states = [(job_state(job), job) for job in jobs]
    failed = {job["metadata"]["uid"]: job for state, job in states if state == "Failed"}
    unfinished = {job["metadata"]["uid"]: job for state, job in states if state not in FINISHED_STATES}
    active = [job for job in unfinished.values() if not is_suspended(job)]
    # Kueue may have suspended the JobSet of a TrainJob and not the TrainJob itself.
    queued = [job for job in unfinished.values() if queue_name(job) and (is_suspended(job) or is_v2(job))]
    well = await _all_up(reader, [job for job in active if is_well(job)], namespace)
    active = [job for job in active if job["metadata"]["uid"] not in well]
    pods = await _pods_by_job(reader, active, namespace)
    workloads = await reader.workloads(_scopes(queued, namespace)) if queued else None
    first_unread = tuple(reader.unread)
    found = {
        uid: Evidence(pods=pods.get(_key(job), ()), workloads=workloads, unread=first_unread) for uid, job in unfinished.items()
    }
    causes = {uid: cause(job, found[uid], now) for uid, job in unfinished.items()}
    unexplained = [
        job for job in active if causes[job["metadata"]["uid"]] is None and not runs_in_full(job, pods.get(_key(job), ()))
    ]
    if unexplained:
        found |= await _with_events(reader, unexplained, namespace, pods)
    for job in unexplained:
        uid = job["metadata"]["uid"]
        found[uid] = msgspec.structs.replace(found[uid], workloads=workloads, unread=tuple(reader.unread))
        causes[uid] = cause(job, found[uid], now)
    running = {uid: None if PODS.plural in first_unread else up(job, pods.get(_key(job), ())) for uid, job in unfinished.items()}
    causes_by_uid = {
        uid: JobCause(causes[uid], unread(job, found[uid], causes[uid]), running[uid], is_all_up=uid in well)
        for uid, job in unfinished.items()
    }
    return causes_by_uid | await _failure_causes(reader, failed, namespace)


async def _failure_causes(reader: _Reader, failed: Mapping[str, Json], namespace: str) -> dict[str, JobCause]:
    """The causes of failed jobs, by their uid. Pods are read only for those without a record of their failures."""
    unrecorded = [job for job in failed.values() if failure_record(job) is None and not missed_deadline(overview(job))]
    pods: dict[str, list[Json]] = {}
    if unrecorded:
        scopes, selectors = _scopes(unrecorded, namespace), {_all_pods(job) for job in unrecorded}
        pods = grouped_by(await reader.listed_all(PODS, scopes, selectors, field_selector=HAVE_FAILED, view=PodFields), _job_key)
    own = {job["metadata"]["uid"]: [pod for pod in pods.get(_key(job), ()) if is_pod_of(job, pod)] for job in unrecorded}
    return {uid: JobCause(failure_cause(job, own.get(uid, ()), [], {})) for uid, job in failed.items()}


async def _all_up(reader: _Reader, well: Sequence[Json], namespace: str) -> set[str]:
    """The uids of the jobs all of whose pods are Running or Succeeded: the API server selects the other pods, and sends only
    those."""
    if not well:
        return set()
    selectors = {_all_pods(job) for job in well}
    others = await reader.listed_all(PODS, _scopes(well, namespace), selectors, view=PodFields, field_selector=NOT_UP)
    if PODS.plural in reader.unread:
        return set()
    with_others = {_job_key(pod) for pod in others}
    return {job["metadata"]["uid"] for job in well if _key(job) not in with_others}


async def _pods_by_job(reader: _Reader, jobs: Sequence[Json], namespace: str) -> dict[str, list[Json]]:
    """The pods of the jobs, by `_key`."""
    if not jobs:
        return {}
    if len(jobs) <= FEW:
        lists = await asyncio.gather(
            *(reader.listed(PODS, job["metadata"]["namespace"], pod_selector(job), view=PodFields) for job in jobs)
        )
        found = [pod for listed in lists for pod in listed]
    else:
        found = await reader.listed_all(PODS, _scopes(jobs, namespace), {_all_pods(job) for job in jobs}, view=PodFields)
    return grouped_by(found, _job_key)


async def _with_events(reader: _Reader, jobs: Sequence[Json], namespace: str, pods: dict[str, list[Json]]) -> dict[str, Evidence]:
    """The evidence about these jobs with events, JobSets and Jobs, by the job's uid."""
    scopes = _scopes(jobs, namespace)
    kinds = [CORE_EVENTS, *((JOBSETS, JOBS) if any(map(is_v2, jobs)) else ())]
    lists = await asyncio.gather(*(reader.listed_all(kind, scopes, _CHILD_LABELS.get(kind, ("",))) for kind in kinds))
    by_uid = grouped_by(lists[0], lambda event: event.get("involvedObject", {}).get("uid", ""))
    by_jobset = grouped_by((child for kind in lists[1:] for child in kind), _jobset_key)
    found = {}
    for job in jobs:
        children = by_jobset.get(_key(job), []) if is_v2(job) else []
        own = pods.get(_key(job), [])
        uids = dict.fromkeys(obj["metadata"]["uid"] for obj in (job, *children, *own))
        events = [event for uid in uids for event in by_uid.get(uid, ())]
        found[job["metadata"]["uid"]] = Evidence(pods=own, events=events, children=children)
    return found


async def evidence_of(client: Client, job: Json, events: Sequence[Json] | None = None) -> Evidence:
    """Everything that may explain why one job does not train, also its position in a queue. A caller that watches the events
    about it passes them as `events`: a namespace may have many thousands of others."""
    reader = _Reader(client)
    namespace = job["metadata"]["namespace"]
    lists = [reader.listed(PODS, namespace, pod_selector(job))]
    if events is None:
        lists.append(reader.listed(CORE_EVENTS, namespace))
    pods, *found = await asyncio.gather(*lists)
    events = found[0] if events is None else events
    return await _completed(client, reader, job, Evidence(pods=pods, events=events))


async def completed(client: Client, job: Json, evidence: Evidence) -> Evidence:
    """The evidence, completed by the JobSet and Jobs of the job, its Workload and its position in a queue."""
    return await _completed(client, _Reader(client), job, evidence)


async def _completed(client: Client, reader: _Reader, job: Json, evidence: Evidence) -> Evidence:
    children = await _children(reader, job)
    workloads, position = None, None
    if queue_name(job) and not is_finished(job):
        workloads = await reader.workloads([job["metadata"]["namespace"]])
        uids = {job["metadata"]["uid"], *(child["metadata"]["uid"] for child in children)}
        if (own := own_workload(uids, workloads or ())) is not None:
            position = await _position(client, await reader.versions(), own, queue_name(job))
    return msgspec.structs.replace(
        evidence, children=children, workloads=workloads, position=position, unread=tuple(reader.unread)
    )


async def _children(reader: _Reader, job: Json) -> list[Json]:
    if not is_v2(job):
        return []
    namespace = job["metadata"]["namespace"]
    jobsets, jobs = await asyncio.gather(
        reader.listed(JOBSETS, namespace, field_selector=f"metadata.name={job['metadata']['name']}"),
        reader.listed(JOBS, namespace, pod_selector(job)),
    )
    return [*jobsets, *jobs]


class _Reader:
    """Lists objects, and records in `unread` which kinds are served but could not be listed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.unread: list[str] = []
        self._versions: frozenset[str] | None = None

    async def versions(self) -> frozenset[str]:
        if self._versions is None:
            self._versions = await served_versions(self._client)
        return self._versions

    async def listed(
        self, resource: Resource, namespace: str, labels: str = "", *, field_selector: str = "", view: Any = None
    ) -> list[Json]:
        """The objects; none if the kind is not served, or cannot be listed."""
        try:
            page = await self._client.list(resource, namespace, view=view, label_selector=labels, field_selector=field_selector)
        except NotFound:
            return []
        except ConnectionProblem:
            raise
        except ApiError:
            # Usually permissions are missing; or a conversion webhook is down.
            if resource.plural not in self.unread:
                self.unread.append(resource.plural)
            return []
        return [{"kind": resource.kind, **item} for item in page.items]

    async def listed_all(
        self,
        resource: Resource,
        scopes: Sequence[str],
        selectors: Collection[str],
        *,
        field_selector: str = "",
        view: Any = None,
    ) -> list[Json]:
        parts = ((scope, labels) for scope in scopes for labels in sorted(selectors))
        lists = await asyncio.gather(
            *(self.listed(resource, scope, labels, field_selector=field_selector, view=view) for scope, labels in parts)
        )
        return [item for items in lists for item in items]

    async def workloads(self, scopes: Sequence[str]) -> list[Json] | None:
        """Kueue's Workloads, by the newest version that is known here; None if Kueue is not installed."""
        version = kueue.newest_version(await self.versions())
        if version is None:
            return None
        return await self.listed_all(Resource(kueue.GROUP, version, "Workload", "workloads"), scopes, ("",))


async def _position(client: Client, served: Collection[str], workload: Json, queue: str) -> Position | None:
    """The Workload's position in its queue; None if Kueue does not serve positions, permissions are missing, or the Workload does
    not wait."""
    version = next((each for each in VISIBILITY_VERSIONS if f"visibility.kueue.x-k8s.io/{each}" in served), None)
    if version is None:
        return None
    name, namespace = workload["metadata"]["name"], workload["metadata"]["namespace"]
    path = f"/apis/visibility.kueue.x-k8s.io/{version}/namespaces/{namespace}/localqueues/{queue}/pendingworkloads"
    try:
        async with asyncio.timeout(VISIBILITY_SECONDS):
            offset = 0
            while True:
                params = {"limit": str(PENDING_PAGE), "offset": str(offset)}
                items = msgspec.json.decode(await client.raw("GET", path, params=params)).get("items") or []
                for item in items:
                    if item["metadata"]["name"] == name:
                        return Position(
                            in_queue=item["positionInLocalQueue"] + 1, in_cluster_queue=item["positionInClusterQueue"] + 1
                        )
                if len(items) < PENDING_PAGE:
                    return None
                offset += len(items)
    except (ApiError, TimeoutError, msgspec.DecodeError):
        return None


_CHILD_LABELS: dict[Resource, tuple[str, ...]] = {JOBS: (V2_JOB,)}


def _scopes(jobs: Sequence[Json], namespace: str) -> list[str]:
    """The namespaces to list: those of the jobs if they are few, else all at once."""
    if namespace:
        return [namespace]
    spaces = sorted({job["metadata"]["namespace"] for job in jobs})
    return spaces if len(spaces) <= FEW else [""]


def _all_pods(job: Json) -> str:
    """The selector of the pods of all jobs of the generation of this one."""
    if is_native(job):
        return NATIVE_PODS
    return V2_JOB if is_v2(job) else V1_JOB


def _key(job: Json) -> str:
    return f"{job['metadata']['namespace']}/{_all_pods(job)}/{job['metadata']['name']}"


def _jobset_key(child: Json) -> str:
    """The key of the TrainJob that a JobSet, or a Job of one, is named after."""
    metadata = child["metadata"]
    name = metadata["name"] if child["kind"] == JOBSETS.kind else (metadata.get("labels") or {}).get(V2_JOB, "")
    return f"{metadata['namespace']}/{V2_JOB}/{name}"


def _job_key(pod: Json) -> str:
    labels = pod["metadata"].get("labels") or {}
    for label, selector in ((V2_JOB, V2_JOB), (V1_JOB, V1_JOB), (JOB_NAME, NATIVE_PODS)):
        if label in labels:
            return f"{pod['metadata']['namespace']}/{selector}/{labels[label]}"
    return ""
