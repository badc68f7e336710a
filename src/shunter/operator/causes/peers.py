"""Ranks that run on while others have succeeded: if they wait for those, they wait for ever. Pure; input is plain JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from shunter.api.formats.counts import noun
from shunter.api.meta import Json
from shunter.operator.causes.words import Cause
from shunter.operator.native_jobs import is_native, pods_at_once, ranks
from shunter.operator.overview import is_v1, is_v2, moment
from shunter.operator.pod_places import place

STRAGGLER_TIMEOUT = timedelta(minutes=2)
"""How long ranks may run after another has succeeded before that is reported: writing a checkpoint takes time."""
V1_TRAINING_ROLES = ("master", "chief", "worker")
"""Parameter servers and evaluators run on by design."""
REMEDY = "If they wait for it in a collective or rendezvous, they wait forever: start the job again."
GROUP_REMEDY = "start the job again, on runtime shunter-torch, which restarts all ranks after a failure."
TORCH_GROUP = "PET_NNODES"
"""The variable by which torchrun knows the size of its group: the operator sets it on every node."""


def peers_succeeded(job: Json, pods: Sequence[Json], now: datetime) -> Cause | None:
    """Why ranks that still run wait in vain: they started after another had succeeded, or still run
    STRAGGLER_TIMEOUT after the last one."""
    if job["kind"] == "MPIJob" or all(pod.get("status", {}).get("phase") != "Succeeded" for pod in pods):
        return None
    if _runs_in_turns(job):
        return None
    for group in _groups(job, pods):
        done = {label: ended for label, pod in group.items() if (ended := _succeeded_at(pod)) is not None}
        running = {label: began for label, pod in group.items() if (began := _started_at(pod)) is not None}
        if not done or not running:
            continue
        first = min(done, key=lambda label: done[label])
        again = _restarted_since(job, group, running, done[first], pods)
        restarted = f"{_list(again)} {noun(len(again), 'was', 'were')} restarted"
        if again and is_torch_group(job, pods):
            text = f"{_list(list(done))} {noun(len(done), 'is', 'are')} done, {restarted} alone and cannot form the group"
            return Cause("PeersSucceeded", text, GROUP_REMEDY)
        late = [label for label, began in running.items() if began > done[first]]
        if again and set(late) <= set(again):
            text = f"{restarted} after {first} had succeeded: they cannot meet again"
            return Cause("PeersSucceeded", text, REMEDY)
        if late:
            text = f"{_list(late)} started after {first} had succeeded: they can never have met"
            return Cause("PeersSucceeded", text, REMEDY)
        last = max(done.values())
        if now - last > STRAGGLER_TIMEOUT:
            verb = "runs" if len(running) == 1 else "run"
            text = f"{_list(list(running))} {verb} on, {_list(list(done))} succeeded at {last.strftime('%H:%M:%S')}Z"
            return Cause("PeersSucceeded", text, REMEDY)
    return None


def succeeded_ranks(job: Json, pods: Sequence[Json]) -> str:
    """Ranks that have succeeded while others of their group have not; empty when there are none, or ranks take turns."""
    if job["kind"] == "MPIJob" or _runs_in_turns(job):
        return ""
    groups = (group for group in _groups(job, pods) if any(_succeeded_at(pod) is None for pod in group.values()))
    done = [label for group in groups for label, pod in group.items() if _succeeded_at(pod) is not None]
    return _list(done)


def is_torch_group(job: Json, pods: Sequence[Json]) -> bool:
    """Whether these pods of a TrainJob are the nodes of one torch group."""
    containers = (container for pod in pods for container in pod.get("spec", {}).get("containers") or [])
    return is_v2(job) and any(one.get("name") == TORCH_GROUP for container in containers for one in container.get("env") or [])


def _restarted_since(
    job: Json, group: dict[str, Json], running: dict[str, datetime], since: datetime, pods: Sequence[Json]
) -> list[str]:
    """The ranks that run, began at that time or later, and had run before. Times have whole seconds, and no torch rank joins a
    group within the second in which it starts."""
    return [label for label, began in running.items() if began >= since and _was_restarted(job, label, group[label], pods)]


def _was_restarted(job: Json, label: str, pod: Json, pods: Sequence[Json]) -> bool:
    """Whether a container of the pod ran before, or the pod stands for one of its rank that has failed."""
    statuses = pod.get("status", {}).get("containerStatuses") or []
    return any(one.get("restartCount") for one in statuses) or any(
        other.get("status", {}).get("phase") == "Failed" and place(job, other).label == label for other in pods
    )


def _runs_in_turns(job: Json) -> bool:
    return is_native(job) and pods_at_once(job) < ranks(job)


def _groups(job: Json, pods: Sequence[Json]) -> list[dict[str, Json]]:
    """Pods that train together, by label: in v1 the training roles, in v2 those of one replicated job."""
    groups: dict[str, dict[str, Json]] = {}
    for pod in pods:
        who = place(job, pod)
        if not who.trains or "deletionTimestamp" in pod["metadata"] or pod.get("status", {}).get("phase") == "Failed":
            continue
        if not is_v1(job):
            groups.setdefault(who.role, {})[who.label] = pod
        elif who.role in V1_TRAINING_ROLES:
            groups.setdefault("", {})[who.label] = pod
    return list(groups.values())


def _succeeded_at(pod: Json) -> datetime | None:
    """When the pod's last container ended, if the pod has succeeded."""
    if pod.get("status", {}).get("phase") != "Succeeded":
        return None
    ends = [moment(_state(one, "terminated").get("finishedAt")) for one in pod["status"].get("containerStatuses") or []]
    return max((end for end in ends if end is not None), default=None)


def _started_at(pod: Json) -> datetime | None:
    """When the pod's running containers started, the last of them."""
    starts = [moment(_state(one, "running").get("startedAt")) for one in pod.get("status", {}).get("containerStatuses") or []]
    return max((start for start in starts if start is not None), default=None)


def _state(container: Json, name: str) -> Json:
    found: Json = container.get("state", {}).get(name) or {}
    return found


def _list(labels: Sequence[str]) -> str:
    shown = sorted(labels)
    return ", ".join(shown) if len(shown) <= 3 else f"{', '.join(shown[:2])} and {len(shown) - 2} more"
