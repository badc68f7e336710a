"""What holds in every history of a namespace, whatever faults happened in it. Each check fails naming the object."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from fault_transport import Request
from faults.history import History, Seen
from player.shape import Json
from shunter.api.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    JOBSETS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICES,
    TRAIN_JOBS,
)
from shunter.api.training.mpi import MPI_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.operator.training.mpi.objects import APP
from shunter.operator.training.names import JOB_NAME, REPLICA_INDEX, REPLICA_TYPE

CHILDREN = {
    PYTORCH_JOBS: (PODS, SERVICES),
    MPI_JOBS: (PODS, CONFIG_MAPS, ROLES, ROLE_BINDINGS),
    TRAIN_JOBS: (CONFIG_MAPS, SECRETS, JOBSETS),
}
ENDS = {"PyTorchJob": ("Succeeded", "Failed"), "MPIJob": ("Succeeded", "Failed"), "TrainJob": ("Complete",)}
"""Conditions that are never taken back. A failed TrainJob runs again when its JobSet is made anew, as upstream's."""

A_USERS = {"made-by": "a-user"}
"""Labels of an object that a user made, though it has those of a job."""

ROOT_CA = "kube-root-ca.crt"
"""The cluster's own ConfigMap in every namespace, made at some time."""
RANK = "batch.kubernetes.io/job-completion-index"


def check(history: History, namespace: str, *, is_job_controller_ours: bool = True) -> None:
    """All invariants of histories."""
    never_two_live_pods_of_one_rank(history, namespace, is_job_controller_ours=is_job_controller_ours)
    what_is_suspended_has_gone_before_it_is_resumed(history, namespace)
    no_end_is_taken_back(history, namespace)
    conditions_are_monotone_in_time(history, namespace)
    every_child_is_owned(history, namespace)
    events_are_not_repeated(history, namespace)
    failures_are_counted_once(history, namespace)


def never_two_live_pods_of_one_rank(history: History, namespace: str, *, is_job_controller_ours: bool = True) -> None:
    """Kubernetes' own Job controller may make a second one where it never heard that the first was made; it takes one back."""
    live: dict[tuple[str, ...], str] = {}
    for seen in history.of(PODS, namespace):
        rank, uid = _rank(seen.object), seen.object["metadata"]["uid"]
        if not is_job_controller_ours and RANK in seen.object["metadata"].get("labels", {}):
            continue
        if rank is None:
            live = {other: holder for other, holder in live.items() if holder != uid}
        elif _is_live(seen):
            assert live.setdefault(rank, uid) == uid, f"two live pods of {rank}: {live[rank]} and {uid}"
        elif live.get(rank) == uid:
            del live[rank]


def what_is_suspended_has_gone_before_it_is_resumed(history: History, namespace: str) -> None:
    """While a v1 job is Suspended no pod of it is made, and when it is resumed none is left that was there."""
    pods = [*history.of(PODS, namespace)]
    made = {uid: _revision(versions[0]) for uid, versions in _by_uid(pods).items()}
    gone = {seen.object["metadata"]["uid"]: _revision(seen.object) for seen in pods if seen.type == "DELETED"}
    for resource in (PYTORCH_JOBS, MPI_JOBS):
        for uid, versions in _by_uid(history.of(resource, namespace)).items():
            own = {
                seen.object["metadata"]["uid"]
                for seen in pods
                if any(one["uid"] == uid for one in seen.object["metadata"].get("ownerReferences", ()))
            }
            since = None
            for job in versions:
                is_suspended = any(one["type"] == "Suspended" and one["status"] == "True" for one in _conditions(job))
                if is_suspended:
                    since = since or _revision(job)
                elif since:
                    until = _revision(job)
                    new = [pod for pod in own if since < made[pod] < until]
                    left = [pod for pod in own if made[pod] < since and gone.get(pod, until) >= until]
                    assert not new, f"{_name(job)} got pods while it was Suspended: {new}"
                    assert not left, f"{_name(job)} was resumed before these pods of it had gone: {left}"
                    since = None


def no_end_is_taken_back(history: History, namespace: str) -> None:
    for resource in CHILDREN:
        for uid, versions in _by_uid(history.of(resource, namespace)).items():
            ended: set[str] = set()
            for job in versions:
                now = {one["type"] for one in _conditions(job) if one["status"] == "True" and one["type"] in ENDS[resource.kind]}
                assert ended <= now, f"{_name(job)} ({uid}) was {ended} and is {now}"
                assert len(now) <= 1, f"{_name(job)} is {now}"
                ended |= now


def conditions_are_monotone_in_time(history: History, namespace: str) -> None:
    """The newest transition of a job never becomes older, and a job does not end before it starts."""
    for resource in CHILDREN:
        for versions in _by_uid(history.of(resource, namespace)).values():
            newest: dict[str, str] = {}
            for job in versions:
                for condition in _conditions(job):
                    type, moment = condition["type"], condition["lastTransitionTime"]
                    assert newest.get(type, "") <= moment, f"{_name(job)}: {type} went from {newest[type]} back to {moment}"
                    newest[type] = moment
                status = job.get("status", {})
                if status.get("startTime") and status.get("completionTime"):
                    assert status["startTime"] <= status["completionTime"], f"{_name(job)} ended before it started"


def every_child_is_owned(history: History, namespace: str) -> None:
    """What the operator makes carries a managing owner that exists or existed."""
    owners = {seen.object["metadata"]["uid"] for kind in CHILDREN for seen in history.of(kind, namespace)}
    for kinds in CHILDREN.values():
        for resource in kinds:
            for seen in history.of(resource, namespace):
                if seen.type == "ADDED" and _is_ours(seen.object):
                    references = seen.object["metadata"].get("ownerReferences", [])
                    managing = [reference["uid"] for reference in references if reference.get("controller")]
                    assert len(managing) == 1, f"{resource.kind} {_name(seen.object)} has the owners {references}"
                    if resource != PODS or JOB_NAME in seen.object["metadata"].get("labels", {}):
                        assert managing[0] in owners, f"{resource.kind} {_name(seen.object)} belongs to nobody"


def events_are_not_repeated(history: History, namespace: str) -> None:
    """The same note about the same object is one event with a count: one for each operator that recorded it."""
    notes = Counter(_note(event) for event in history.present(CORE_EVENTS, namespace) if not _is_of_the_cluster(event))
    operators = 1 + len({seen.object.get("reportingInstance") for seen in history.of(CORE_EVENTS, namespace)})
    repeated = {note: count for note, count in notes.items() if count > operators}
    assert not repeated, f"events that stand {operators} times and more: {repeated}"


def failures_are_counted_once(history: History, namespace: str) -> None:
    """The record of what failed only grows, and its number is that of the failures which ever stood in it."""
    for resource in CHILDREN:
        for versions in _by_uid(history.of(resource, namespace)).values():
            ever: set[tuple[str, ...]] = set()
            before = 0
            for job in versions:
                record = job.get("status", {}).get("rankFailures") or {}
                keys = [_failure(one) for one in record.get("last", [])]
                ever |= set(keys)
                count = record.get("count", 0)
                assert len(set(keys)) == len(keys), f"{_name(job)} has one failure twice: {record}"
                assert count >= before, f"{_name(job)} had {before} failures, and has {count}"
                assert count == len(ever), f"{_name(job)} counts {count} failures of {sorted(ever)}"
                before = count


def every_failed_pod_is_recorded(history: History, namespace: str) -> None:
    """Where no pod is taken away by others before the operator looks: what failed before its pod was deleted is in the job's
    record."""
    failed: dict[str, str] = {}
    for seen in history.of(PODS, namespace):
        metadata = seen.object["metadata"]
        if seen.object.get("status", {}).get("phase") == "Failed" and "deletionTimestamp" not in metadata:
            failed[metadata["uid"]] = metadata["name"]
    jobs = [seen.object for resource in CHILDREN for seen in history.of(resource, namespace)]
    records = [job.get("status", {}).get("rankFailures") or {} for job in jobs]
    recorded = {one["podUID"] for record in records for one in record.get("last", [])}
    lost = {name for uid, name in failed.items() if uid not in recorded}
    assert not lost, f"nothing is recorded of what failed in {lost}"


def incarnations(history: History, namespace: str) -> Mapping[str, int]:
    """How many objects ever had each name: an object that was made again counts again. What the controllers of JobSets and Jobs
    make is not ours and left out: JobSet's makes Jobs and services anew that are deleted just before it learns that its JobSet
    is."""
    uids: defaultdict[str, set[str]] = defaultdict(set)
    for resource in {*CHILDREN, *(kind for kinds in CHILDREN.values() for kind in kinds)}:
        for seen in history.of(resource, namespace):
            if _owner_kind(seen.object) not in (JOBSETS.kind, "Job") and _name(seen.object) != ROOT_CA:
                uids[f"{resource.kind}/{_name(seen.object)}"].add(seen.object["metadata"]["uid"])
    return {name: len(found) for name, found in uids.items()}


def event_counts(history: History, namespace: str) -> Mapping[tuple[str, ...], int]:
    """How often each note was recorded by operators."""
    counts: Counter[tuple[str, ...]] = Counter()
    for event in history.present(CORE_EVENTS, namespace):
        if not _is_of_the_cluster(event):
            counts[_note(event)] += (event.get("series") or {}).get("count") or event.get("count") or 1
    return counts


def writes_are_bounded(requests: Iterable[Request], *, each: int) -> None:
    """No hot loop: not more than `each` writes to one path; creations of one collection count by their bodies."""
    counts = Counter((request.method, request.path, request.body if request.method == "POST" else b"") for request in requests)
    many = {(method, path): count for (method, path, _), count in counts.items() if count > each}
    assert not many, f"written more than {each} times: {many}"


def _rank(pod: Json) -> tuple[str, ...] | None:
    """What a pod is to its job."""
    labels = pod["metadata"].get("labels", {})
    owner = next((one for one in pod["metadata"].get("ownerReferences", []) if one.get("controller")), None)
    if owner is None:
        return None
    if JOB_NAME in labels:
        return (owner["uid"], labels.get(REPLICA_TYPE, ""), labels.get(REPLICA_INDEX, pod["metadata"]["name"]))
    return (owner["uid"], labels[RANK]) if RANK in labels else None


def _failure(recorded: Json) -> tuple[str, ...]:
    return (recorded["podUID"], recorded.get("container", ""), str(recorded.get("restart", 0)))


def _is_live(seen: Seen) -> bool:
    """A pod that is being deleted still occupies its name, so no second one of ours can be there; a Job's may."""
    phase = seen.object.get("status", {}).get("phase")
    is_leaving = seen.object["metadata"].get("deletionTimestamp") is not None
    return seen.type != "DELETED" and phase not in ("Succeeded", "Failed") and not is_leaving


def _owner_kind(obj: Json) -> str:
    owners = (owner["kind"] for owner in obj["metadata"].get("ownerReferences", ()) if owner.get("controller"))
    return next(owners, "")


def _is_ours(obj: Json) -> bool:
    metadata = obj["metadata"]
    labels = metadata.get("labels", {})
    if A_USERS.items() <= labels.items():
        return False
    return JOB_NAME in labels or APP in labels or obj["kind"] == "JobSet" or metadata["name"].endswith("-runtime-snapshot")


def _is_of_the_cluster(event: Json) -> bool:
    reporter = event.get("reportingComponent") or event.get("source", {}).get("component") or ""
    return not reporter.startswith(("pytorchjob", "mpijob", "trainer-", "shunter-operator"))


def _note(event: Json) -> tuple[str, ...]:
    regarding = event["involvedObject"]
    return (regarding["kind"], regarding["name"], regarding.get("uid", ""), event["reason"], event["message"])


def _by_uid(changes: Iterable[Seen]) -> Mapping[str, list[Json]]:
    found: defaultdict[str, list[Json]] = defaultdict(list)
    for seen in changes:
        found[seen.object["metadata"]["uid"]].append(seen.object)
    return found


def _revision(obj: Json) -> int:
    return int(obj["metadata"]["resourceVersion"])


def _conditions(job: Json) -> list[dict[str, Any]]:
    return job.get("status", {}).get("conditions") or []


def _name(obj: Json) -> str:
    return str(obj["metadata"]["name"])
