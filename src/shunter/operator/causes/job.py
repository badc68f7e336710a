"""Why a job does not train: one word, one sentence, and what to do about it. Pure; input is plain JSON.

`jobs`, `describe` and `run` show what `cause` returns, so they cannot disagree. It claims only what stands in the evidence now: a
refusal that has been made good since is none, and what could not be read is named by `unread`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from shunter.api.core import pod_has_ended
from shunter.api.formats.counts import count
from shunter.api.jobset import replicas_and_pods
from shunter.api.meta import EPOCH, Json, Struct
from shunter.api.ownership import controller_uid
from shunter.api.scheduling.podgroups import POD_GROUP_MISSING, WAITING_FOR_POD_GROUP
from shunter.operator.causes.blocked_pod import BlockedPod
from shunter.operator.causes.events import event_time
from shunter.operator.causes.peers import GROUP_REMEDY, is_torch_group, peers_succeeded, succeeded_ranks
from shunter.operator.causes.pods import IMAGE_REASONS, NODE_REASONS, blocked_pods, crash_loops
from shunter.operator.causes.queue import Position, queue_cause, queue_name
from shunter.operator.causes.words import Cause
from shunter.operator.interrupted_scaling import is_to_be_resumed
from shunter.operator.native_jobs import is_native, pods_at_once
from shunter.operator.overview import (
    is_finished,
    is_pod_of,
    is_suspended,
    is_v1,
    is_v2,
    job_ranks,
    job_state,
    manager_of_others,
    moment,
)
from shunter.operator.suspension import suspend_command

REFUSALS = (
    "FailedCreatePod",
    "FailedCreateService",
    "FailedCreatePodGroup",
    "FailedCreate",
    "JobCreationFailed",
    "HeadlessServiceCreationFailed",
    "PVCCreationFailed",
)
"""Reasons of events that say why an object of a job was refused: by our operator on v1 jobs, by the Job controller, by JobSet."""


class Evidence(Struct, frozen=True):
    """What was read of one job. Objects of others, and of earlier jobs of the same name, may be among it: they are left out."""

    pods: Sequence[Json] = ()
    events: Sequence[Json] = ()
    children: Sequence[Json] = ()
    """The JobSet of a TrainJob, and the Jobs of that."""
    workloads: Sequence[Json] | None = None
    """Kueue's Workloads; None where the cluster serves none."""
    position: Position | None = None
    """The job's place in its queue, where Kueue serves it."""
    unread: Sequence[str] = ()
    """Kinds (plural) that could not be read."""


def cause(job: Json, evidence: Evidence, now: datetime) -> Cause | None:
    """Why the job does not train; None when nothing stands in its way, or the evidence does not say."""
    if is_finished(job):
        return None
    if since := job["metadata"].get("deletionTimestamp"):
        return _deleted(job, evidence, since)
    if manager_of_others(job) and job_state(job) in ("Running", "Restarting"):
        return None  # Kueue, for one, keeps the status of a job that runs in another cluster.
    # A TrainJob has its condition only while it holds; that of a v1 job may be left from before it was suspended.
    stopped, uncreated = _suspended_or_managed(job, evidence, now), _creation_failure(job)
    first = (uncreated or stopped) if is_v2(job) else (stopped or uncreated)
    return first or _blocked_by_pods(job, evidence, now)


def unread(job: Json, evidence: Evidence, found: Cause | None) -> tuple[str, ...]:
    """Kinds that could not be read and might show why the job does not train."""
    if found is not None or not evidence.unread or is_finished(job):
        return ()
    return tuple(sorted(kind for kind in evidence.unread if kind != "workloads" or queue_name(job)))


def runs_in_full(job: Json, pods: Sequence[Json]) -> bool:
    """Whether all pods of the job are there and run or are done, so that events have nothing to add."""
    own = [pod for pod in pods if is_pod_of(job, pod) and "deletionTimestamp" not in pod["metadata"]]
    if not own or any(pod.get("status", {}).get("phase") not in ("Running", "Succeeded") for pod in own):
        return False
    if is_native(job):
        return not _lacks_pods(job, own)
    if is_v1(job):
        return len(own) >= job_ranks(job)
    groups = job.get("status", {}).get("jobsStatus") or []
    return any(group.get("ready") for group in groups) and all(
        group.get("active", 0) <= group.get("ready", 0) for group in groups
    )


def owned_by(evidence: Evidence, job: Json) -> list[Json]:
    """The JobSet and the Jobs of this TrainJob, not those of one that had its name before."""
    if not evidence.children:
        return []
    uids, found = {job["metadata"].get("uid")}, []
    for kind in ("JobSet", "Job"):
        own = [child for child in evidence.children if child.get("kind") == kind and controller_uid(child) in uids]
        uids |= {child["metadata"].get("uid") for child in own}
        found += own
    return found


def _deleted(job: Json, evidence: Evidence, since: str) -> Cause:
    left = sum(is_pod_of(job, pod) for pod in evidence.pods)
    waits = f"its {count(left, 'pod')} to end" if left else f"{', '.join(job['metadata'].get('finalizers') or ['nothing'])}"
    return Cause("Deleting", f"its deletion was requested at {since} and waits for {waits}")


def _suspended_or_managed(job: Json, evidence: Evidence, now: datetime) -> Cause | None:
    """The job is not meant to run: by its queue, another manager, or its user."""
    children = owned_by(evidence, job)
    jobset_suspended = any(child.get("kind") == "JobSet" and (child.get("spec") or {}).get("suspend") for child in children)
    if queue_name(job) and (is_suspended(job) or jobset_suspended):
        uids = {job["metadata"].get("uid", ""), *(child["metadata"].get("uid", "") for child in children)}
        return queue_cause(job, uids, evidence.workloads, evidence.position, now, is_readable="workloads" not in evidence.unread)
    if manager := manager_of_others(job):
        who = "Kubernetes" if is_native(job) else "this operator"
        return Cause("ManagedByOther", f"it is left to {manager} (managedBy): {who} does nothing for it")
    if not is_suspended(job):
        return None
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    if is_v2(job) and is_to_be_resumed(job):
        nodes = job_ranks(job)
        text = f"shunter scale suspended it to give it {count(nodes, 'node')}, and was interrupted before it resumed it"
        return Cause("ScaleInterrupted", text, f"finish that with: shunter scale {name} --nodes {nodes} -n {namespace}")
    path = "spec.runPolicy" if is_v1(job) else "spec"
    command = suspend_command(job, suspend=False)
    return Cause("Suspended", f"it waits because {path}.suspend is true", f"resume it with: {command}")


def _creation_failure(job: Json) -> Cause | None:
    """By the condition Created, in which the operator says what the job's objects wait for."""
    for condition in job.get("status", {}).get("conditions", []):
        reason, message = condition.get("reason", ""), condition.get("message", "")
        if condition["type"] != "Created":
            if reason.endswith(WAITING_FOR_POD_GROUP) and condition["status"] == "True":
                return Cause("WaitingForGang", message)
            continue
        if reason.endswith(WAITING_FOR_POD_GROUP):
            return Cause("WaitingForGang", message)
        if reason.endswith(POD_GROUP_MISSING):
            return Cause("PodGroupMissing", message)
        if condition["status"] == "False":
            refusal = _refusal(message)
            return refusal if refusal.word != "Refused" else Cause(reason.removeprefix(job["kind"]) or "Refused", message)
    return None


def _blocked_by_pods(job: Json, evidence: Evidence, now: datetime) -> Cause | None:
    """By its pods, and by events about pods that could not be created."""
    pods = [pod for pod in evidence.pods if is_pod_of(job, pod)]
    blocked = blocked_pods(job, pods, evidence.events, now)
    lasting = [one for one in blocked if not one.is_loop]
    if lasting:
        return _of_pods(lasting)
    if (refusal := _refused_children(job, pods, evidence)) is not None:
        return refusal
    if again := crash_loops(job, pods, blocked, now):
        found = _of_pods(again)
        done = succeeded_ranks(job, pods)
        if not done:
            return found
        remedy = found.remedy or (GROUP_REMEDY if is_torch_group(job, pods) else "")
        return found._replace(rest=f"{found.rest}; {done} succeeded already: they cannot meet again", remedy=remedy)
    return peers_succeeded(job, pods, now)


def _of_pods(blocked: Sequence[BlockedPod]) -> Cause:
    """The cause with the highest priority, with the number of pods that it blocks and of pods with another cause."""
    first = min(blocked, key=lambda one: one.order)
    labels = list(dict.fromkeys(one.label for one in blocked if (one.word, one.text) == (first.word, first.text)))
    others = len({one.label for one in blocked}) - len(labels)
    who = labels[0] if len(labels) == 1 else f"{labels[0]} and {len(labels) - 1} more"
    rest = f"; {count(others, 'other pod has', 'other pods have')} another cause" if others else ""
    return Cause(first.word, first.text, first.remedy, who, rest)


def _refused_children(job: Json, pods: Sequence[Json], evidence: Evidence) -> Cause | None:
    """Why a pod that is missing could not be made, by the newest event about it, unless a pod has been made since."""
    if not evidence.events:
        return None
    children = owned_by(evidence, job)
    if not _is_short_of_pods(job, pods, children):
        return None
    uids = {job["metadata"].get("uid"), *(child["metadata"].get("uid") for child in children)}
    made = max((moment(pod["metadata"].get("creationTimestamp")) or EPOCH for pod in pods), default=EPOCH)
    about = [
        event
        for event in evidence.events
        if event.get("reason") in REFUSALS and event.get("involvedObject", {}).get("uid") in uids and event_time(event) >= made
    ]
    if not about:
        return None
    newest = max(about, key=event_time)
    return _refusal(newest.get("message", "").strip())


def _is_short_of_pods(job: Json, pods: Sequence[Json], children: Sequence[Json]) -> bool:
    """Whether pods are missing that the job, or a Job of its JobSet, asks for."""
    there = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    if is_native(job):
        return _lacks_pods(job, there)
    if not is_v2(job):
        return len(there) < job_ranks(job)
    jobs = [child for child in children if child.get("kind") == "Job"]
    jobsets = [child for child in children if child.get("kind") == "JobSet"]
    groups = [group for one in jobsets for group in (one.get("spec") or {}).get("replicatedJobs") or []]
    desired = sum(replicas_and_pods(group)[0] for group in groups)
    if not jobs or len(jobs) < desired:
        return True
    return any(_lacks_pods(one, [pod for pod in there if controller_uid(pod) == one["metadata"].get("uid")]) for one in jobs)


def _lacks_pods(job: Json, there: Sequence[Json]) -> bool:
    """Whether a Job of Kubernetes has fewer pods at work than it may have."""
    spec, status = job.get("spec") or {}, job.get("status") or {}
    if spec.get("suspend") or any(one.get("status") == "True" for one in status.get("conditions") or []):
        return False
    done = max(int(status.get("succeeded") or 0), sum(pod.get("status", {}).get("phase") == "Succeeded" for pod in there))
    at_work = [pod for pod in there if not pod_has_ended(pod)]
    return len(at_work) < pods_at_once(job, done)


def _refusal(message: str) -> Cause:
    """What an API server's refusal of an object means, in its own words."""
    for word, mark, remedy in _REFUSAL_WORDS:
        if mark in message:
            return Cause(word, message.removeprefix("Error creating: "), remedy)
    return Cause("Refused", message.removeprefix("Error creating: "), "Change what the message names.")


REASONS_COVERED_BY_CAUSES = frozenset(
    {
        *REFUSALS,
        *NODE_REASONS,
        *IMAGE_REASONS,
        "BackOff",
        "ContainerCreating",
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "Failed",
        "FailedScheduling",
        POD_GROUP_MISSING,
        "PodInitializing",
        "RunContainerError",
        "SchedulingGated",
        "TrainJobResourcesCreationFailed",
        "Unschedulable",
        WAITING_FOR_POD_GROUP,
    }
)
"""Reasons of warnings about a job and its pods that are not shown when a cause covers them."""
STARTING_REASONS = frozenset({"ContainersNotReady", "ContainersNotInitialized"})
"""Reasons of warnings that v1 jobs get for each pod that is merely starting."""
_REFUSAL_WORDS = (
    ("QuotaExceeded", "exceeded quota", "Wait until others end, request less, or raise the ResourceQuota."),
    ("QuotaExceeded", "failed quota", "Set these resources in the containers of the job: the ResourceQuota requires them."),
    (
        "MissingServiceAccount",
        'serviceaccount "',
        "Create it, or correct serviceAccountName of the pod template.",
    ),
    ("PodSecurity", "violates PodSecurity", "Change the securityContext of the pod template, or the labels of the namespace."),
    ("MissingPriorityClass", "no PriorityClass with name", "Create the PriorityClass, or correct priorityClassName."),
)
