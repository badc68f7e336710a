"""Which pods of a job train, in the order of their ranks, and which of their containers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.batch import COMPLETION_INDEX
from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.api.training.kinds import JOB_KINDS
from shunter.operator.overview import is_v2, member

_GLOBAL_JOB = "jobset.sigs.k8s.io/job-global-index"
TRAINING_CONTAINERS = frozenset({NODE, *(kind.container for kind in JOB_KINDS)})


def training_pods(job: Json, pods: Sequence[Json]) -> list[Json]:
    """Those that take part in the training, by rank; of those that took one place after another the last."""
    latest: dict[str, Json] = {}
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", ""))):
        if member(job, pod).rank is not None:
            latest[member(job, pod).label] = pod
    return sorted(latest.values(), key=lambda pod: _rank_order(job, pod))


def pods_by_rank(job: Json, pods: Sequence[Json]) -> dict[int, Json]:
    """The pods that train, each under its rank, in order."""
    ranked = training_pods(job, pods)
    return dict(zip(ranks(job, ranked), ranked, strict=True))


def ranks(job: Json, ranked: Sequence[Json]) -> list[int]:
    """The rank of each pod that trains, as far as pods that are gone let it be told."""
    places = [_rank_order(job, pod) for pod in ranked]
    if all(completion == 0 for _, completion in places):
        return [place for place, _ in places]
    if all(place == 0 for place, _ in places):
        return [completion for _, completion in places]
    return list(range(len(ranked)))


def _rank_order(job: Json, pod: Json) -> tuple[int, int]:
    if not is_v2(job):
        return member(job, pod).rank or 0, 0
    labels = pod["metadata"].get("labels", {})
    return int(labels.get(_GLOBAL_JOB, "0")), int(labels.get(COMPLETION_INDEX, "0"))


def training_container(pod: Json) -> str:
    """The name of the container that trains; sidecars may stand before it."""
    names = [container["name"] for container in pod["spec"]["containers"]]
    return next((str(name) for name in names if name in TRAINING_CONTAINERS), str(names[0]))
