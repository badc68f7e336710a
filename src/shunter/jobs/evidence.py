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
from shunter.jobs.failures import missed_deadline, why_failed
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
"""Up to so many namespaces, or pending workloads' queues, are read one by one; more by one list of all."""
VISIBILITY_VERSIONS = ("v1beta2", "v1beta1", "v1alpha1")
VISIBILITY_SECONDS = 5.0
"""How long Kueue's own API server, which may be down, is waited for."""
PENDING_PAGE = 1000


class MetadataFields(TypedDict, total=False):
    """Keys as on the wire; one that the object lacks is missing here too."""

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
    """Of a container no more than its name and those of its variables."""

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
    """What causes look at in a pod: of thousands of pods the rest is not worth decoding."""

    metadata: MetadataFields
    spec: SpecFields
    status: Json


class JobCause(NamedTuple):
    """What keeps a job from training, or why it failed, and which kinds could not be read that might have told."""

    cause: Cause | None
    unread: tuple[str, ...] = ()
    up: int | None = 0
    """Ranks whose pod runs, unless all of them do: see `up_of`. None where pods could not be read."""
    is_all_up: bool = False
    """Whether all ranks run by the job's own status, and no pod of it is in another phase: then no more was read."""

    def up_of(self, wanted: int | None) -> int | None:
        """Ranks whose pod runs, of those wanted; None where it is not known."""
        return wanted if self.is_all_up else self.up


async def why_of_all(client: Client, jobs: Sequence[Json], namespace: str, now: datetime) -> dict[str, JobCause]:
    """By the uid of the job, for those that have not succeeded."""
    reader = _Reader(client)
    states = [(job_state(job), job) for job in jobs]
    failed = {job["metadata"]["uid"]: job for state, job in states if state == "Failed"}
    live = {job["metadata"]["uid"]: job for state, job in states if state not in FINISHED_STATES}
    held = [job for job in live.values() if not is_suspended(job)]
    # Kueue may have suspended the JobSet of a TrainJob and not the TrainJob itself.
    queued = [job for job in live.values() if queue_name(job) and (is_suspended(job) or is_v2(job))]
    well = await _all_up(reader, [job for job in held if is_well(job)], namespace)
    held = [job for job in held if job["metadata"]["uid"] not in well]
    pods = await _pods_by_job(reader, held, namespace)
    workloads = await reader.workloads(_scopes(queued, namespace)) if queued else None
    first_unread = tuple(reader.unread)
    found = {uid: Evidence(pods=pods.get(_key(job), ()), workloads=workloads, unread=first_unread) for uid, job in live.items()}
    causes = {uid: cause(job, found[uid], now) for uid, job in live.items()}
    silent = [job for job in held if causes[job["metadata"]["uid"]] is None and not runs_in_full(job, pods.get(_key(job), ()))]
    if silent:
        found |= await _with_events(reader, silent, namespace, pods)
    for job in silent:
        uid = job["metadata"]["uid"]
        found[uid] = msgspec.structs.replace(found[uid], workloads=workloads, unread=tuple(reader.unread))
        causes[uid] = cause(job, found[uid], now)
    running = {uid: None if PODS.plural in first_unread else up(job, pods.get(_key(job), ())) for uid, job in live.items()}
    why = {
        uid: JobCause(causes[uid], unread(job, found[uid], causes[uid]), running[uid], is_all_up=uid in well)
        for uid, job in live.items()
    }
    return why | await _why_failed(reader, failed, namespace)


async def _why_failed(reader: _Reader, failed: Mapping[str, Json], namespace: str) -> dict[str, JobCause]:
    """Of jobs that failed, by their uid. Pods are read of those only that keep no record of what failed."""
    without = [job for job in failed.values() if failure_record(job) is None and not missed_deadline(overview(job))]
    pods: dict[str, list[Json]] = {}
    if without:
        scopes, selectors = _scopes(without, namespace), {_all_pods(job) for job in without}
        pods = grouped_by(await reader.listed_all(PODS, scopes, selectors, field_selector=HAVE_FAILED, view=PodFields), _job_key)
    own = {job["metadata"]["uid"]: [pod for pod in pods.get(_key(job), ()) if is_pod_of(job, pod)] for job in without}
    return {uid: JobCause(why_failed(job, own.get(uid, ()), [], {})) for uid, job in failed.items()}


async def _all_up(reader: _Reader, well: Sequence[Json], namespace: str) -> set[str]:
    """Those of the jobs of which no pod is in another phase than Running or Succeeded, by uid: the API server looks through their
    pods, and sends only the others."""
    if not well:
        return set()
    selectors = {_all_pods(job) for job in well}
    others = await reader.listed_all(PODS, _scopes(well, namespace), selectors, view=PodFields, field_selector=NOT_UP)
    if PODS.plural in reader.unread:
        return set()
    doubtful = {_job_key(pod) for pod in others}
    return {job["metadata"]["uid"] for job in well if _key(job) not in doubtful}


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
    """Everything that may tell why one job does not train, also its place in a queue. `events` are those about it, of a caller
    that watches them: a namespace may have many thousands of others."""
    reader = _Reader(client)
    namespace = job["metadata"]["namespace"]
    lists = [reader.listed(PODS, namespace, pod_selector(job))]
    if events is None:
        lists.append(reader.listed(CORE_EVENTS, namespace))
    pods, *found = await asyncio.gather(*lists)
    events = found[0] if events is None else events
    return await _completed(client, reader, job, Evidence(pods=pods, events=events))


async def completed(client: Client, job: Json, evidence: Evidence) -> Evidence:
    """Pods and events of one job with what else may tell: its JobSet and Jobs, its Workload and its place in a queue."""
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
    """Lists objects; what could not be listed, and what is not served, is told apart."""

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
        """Nothing where the kind is not served; noted where the server does not give it."""
        try:
            page = await self._client.list(resource, namespace, view=view, label_selector=labels, field_selector=field_selector)
        except NotFound:
            return []
        except ConnectionProblem:
            raise
        except ApiError:
            # Mostly for want of rights; also when a kind of others cannot be converted just now.
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
        """Kueue's Workloads by the newest version that we know; None where it is not installed."""
        version = kueue.newest_version(await self.versions())
        if version is None:
            return None
        return await self.listed_all(Resource(kueue.GROUP, version, "Workload", "workloads"), scopes, ("",))


async def _position(client: Client, served: Collection[str], workload: Json, queue: str) -> Position | None:
    """The Workload's place in its queue; None where Kueue does not serve places, or not to us, or the Workload is not waiting."""
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
    """The namespaces to list: those of the jobs while they are few, else all at once."""
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
