"""How many ranks of a job are up, and how many it requests. Pure; input is plain JSON.

The requested number comes from the job or its JobSet, never from its pods: some of them may not have been created.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from shunter.api.jobset import replicas_and_pods
from shunter.api.meta import Json
from shunter.operator.native_jobs import is_native
from shunter.operator.overview import (
    is_pod_of,
    is_v1,
    is_v2,
    job_ranks,
    job_state,
    leaves_nodes_to_runtime,
    manager_of_others,
)
from shunter.operator.pod_places import Places, is_initializer

UP_PHASES = ("Running", "Succeeded")
"""Phases of the pods of a healthy job. If a pod is in another phase, the pods count, not the status of the job."""


def requested_ranks(job: Json, jobset: Json | None = None, *, without: Collection[str] = ()) -> int | None:
    """The number of pods that train, except those of the roles in `without`. A TrainJob may leave it to its runtime: then it is
    that of its JobSet, and None if there is no JobSet."""
    if not is_v2(job):
        return job_ranks(job, without=without)
    groups = ((jobset or {}).get("spec") or {}).get("replicatedJobs")
    if not groups:
        return None if leaves_nodes_to_runtime(job) else job_ranks(job)
    return sum(
        math.prod(replicas_and_pods(group))
        for group in groups
        if not is_initializer(name := str(group.get("name", ""))) and name not in without
    )


class PodUp(NamedTuple):
    """What one pod of a job adds to the number of ranks that are up."""

    has_started: bool
    """It is in one of `UP_PHASES`."""
    label: str
    """The label of its rank, if this pod is up."""


def pod_up(places: Places, pod: Json) -> PodUp:
    """`places` are those of the pod's job."""
    label = ""
    if _is_up(pod):
        place = places.of(pod)
        label = place.label if place.trains else ""
    return PodUp((pod.get("status") or {}).get("phase") in UP_PHASES, label)


def up(job: Json, pods: Sequence[Json]) -> int | None:
    """The number of ranks whose pod runs, with all its containers. Pods of other jobs do not count."""
    places = Places(job)
    return up_of(job, [pod_up(places, pod) for pod in pods if is_pod_of(job, pod)])


def up_of(job: Json, own: Collection[PodUp]) -> int | None:
    """The ranks of the job's own pods that are up, each counted once. All ranks of a v1 job that is well by its status are up,
    unless a pod is in another phase than `UP_PHASES`. A job that another controller manages may have its pods in another cluster:
    if it has none here, the status decides; None if it does not say."""
    if manager_of_others(job) and not own:
        return _active(job) if is_v1(job) else requested_ranks(job) if is_well(job) else None
    if is_v1(job) and own and is_well(job) and all(pod.has_started for pod in own):
        return job_ranks(job)
    return len({pod.label for pod in own} - {""})


def up_text(up: int | None, wanted: int | None) -> str:
    """`3/4`: how many ranks are up, of those that the job requests; `?` for a number that is not known."""
    return "/".join("?" if number is None else str(number) for number in (up, wanted))


def is_well(job: Json) -> bool:
    """Whether, by the status of a job, all its ranks run, none has ended, and none has ever failed. Its pods are then of interest
    only if one has changed since."""
    status = job.get("status") or {}
    if is_native(job) or status.get("rankFailures") or "deletionTimestamp" in job["metadata"]:
        return False
    groups = status.get("jobsStatus") or [] if is_v2(job) else [*(status.get("replicaStatuses") or {}).values()]
    if not groups or any(group.get("succeeded") or group.get("failed") for group in groups):
        return False
    if is_v2(job):
        return all(group.get("active") and group["active"] == group.get("ready") for group in groups)
    return job_state(job) == "Running" and sum(group.get("active", 0) for group in groups) == job_ranks(job)


def _active(job: Json) -> int:
    groups = ((job.get("status") or {}).get("replicaStatuses") or {}).values()
    return sum(group.get("active") or 0 for group in groups)


def _is_up(pod: Json) -> bool:
    status = pod.get("status") or {}
    if status.get("phase") != "Running" or pod["metadata"].get("deletionTimestamp"):
        return False
    return all("running" in (one.get("state") or {}) for one in status.get("containerStatuses") or ())
