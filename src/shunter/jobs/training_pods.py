"""Which pods of a job train, in the order of their ranks, and which of their containers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.meta import Json
from shunter.api.trainer.runtime import DATASET_INITIALIZER, MODEL_INITIALIZER, NODE
from shunter.api.training.kinds import JOB_KINDS
from shunter.operator.pod_places import Members

TRAINING_CONTAINERS = frozenset({NODE, *(kind.container for kind in JOB_KINDS)})
_INITIALIZERS = (DATASET_INITIALIZER, MODEL_INITIALIZER)
ADDED_CONTAINERS = frozenset(name for kind in JOB_KINDS for name in kind.added_containers)
"""Containers that the operator adds to pods."""


def training_pods(job: Json, pods: Sequence[Json]) -> list[Json]:
    """The pods that train, by rank; of pods that replaced each other the last."""
    return [*pods_by_rank(job, pods).values()]


def pods_by_rank(job: Json, pods: Sequence[Json]) -> dict[int, Json]:
    """The same, each under its rank."""
    members = Members(job, pods)
    found: dict[int, Json] = {}
    for pod in sorted(pods, key=created_at):
        if (rank := members.of(pod).rank) is not None:
            found[rank] = pod
    return dict(sorted(found.items()))


def created_at(pod: Json) -> str:
    """When a pod was created, as text in the order of time: of pods that replaced each other the last counts."""
    return str(pod["metadata"].get("creationTimestamp", ""))


def training_container(pod: Json) -> str:
    """The name of the container that trains, or of an initializer's; sidecars may come before it."""
    names = [container["name"] for container in pod["spec"]["containers"]]
    return next((str(name) for name in names if name in TRAINING_CONTAINERS or name in _INITIALIZERS), str(names[0]))


def training_end(pod: Json) -> Json:
    """How the container that trains has ended; empty while it has not, or runs again."""
    name = training_container(pod)
    status: Json = next((one for one in pod.get("status", {}).get("containerStatuses") or () if one["name"] == name), {})
    return (status.get("state") or {}).get("terminated") or {}


def is_added_without_failure(status: Json) -> bool:
    """Whether a container, by its status, is one that the operator added and that did not fail when it ended last: its log says
    nothing about the training."""
    ended = (status.get("state") or {}).get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
    return status["name"] in ADDED_CONTAINERS and not ended.get("exitCode")
