"""Which pods of a job train, in the order of their ranks, and which of their containers. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from shunter.api.batch import COMPLETION_INDEX
from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.api.training.kinds import JOB_KINDS
from shunter.operator.overview import Members, is_v2

_GLOBAL_JOB = "jobset.sigs.k8s.io/job-global-index"
Key = TypeVar("Key", bound=Hashable)
TRAINING_CONTAINERS = frozenset({NODE, *(kind.container for kind in JOB_KINDS)})


class Place(NamedTuple):
    """Where a pod stands among those of its job."""

    label: str
    """The same for pods that take one place after another."""
    trains: bool
    created: str
    order: tuple[int, int]


class Places:
    """The places of the pods of one job."""

    def __init__(self, job: Json) -> None:
        self._members = Members(job)
        self._is_v2 = is_v2(job)

    def of(self, pod: Json) -> Place:
        """That of one pod."""
        metadata, found = pod["metadata"], self._members.of(pod)
        order = (found.rank or 0, 0)
        if self._is_v2:
            labels = metadata.get("labels", {})
            order = int(labels.get(_GLOBAL_JOB, "0")), int(labels.get(COMPLETION_INDEX, "0"))
        return Place(found.label, found.rank is not None, str(metadata.get("creationTimestamp", "")), order)


def ranks_of_places(places: Mapping[Key, Place]) -> dict[Key, int]:
    """The rank of each pod that takes part in the training, by rank, as far as pods that are gone let it be told; of those that
    took one place after another only of the last."""
    latest = {places[key].label: key for key in sorted(places, key=lambda key: places[key].created) if places[key].trains}
    ranked = sorted(latest.values(), key=lambda key: places[key].order)
    # Jobs of initializers are counted among all of a JobSet, and come first.
    prepare = {place.order[0] for place in places.values() if not place.trains}
    orders = [(at - sum(one < at for one in prepare), completion) for at, completion in (places[key].order for key in ranked)]
    if all(completion == 0 for _, completion in orders):
        return {key: place for key, (place, _) in zip(ranked, orders, strict=True)}
    if all(place == 0 for place, _ in orders):
        return {key: completion for key, (_, completion) in zip(ranked, orders, strict=True)}
    return {key: rank for rank, key in enumerate(ranked)}


def training_pods(job: Json, pods: Sequence[Json]) -> list[Json]:
    """Those that take part in the training, by rank; of those that took one place after another the last."""
    return [pods[at] for at in _ranks(job, pods)]


def pods_by_rank(job: Json, pods: Sequence[Json]) -> dict[int, Json]:
    """The pods that train, each under its rank, in order."""
    return {rank: pods[at] for at, rank in _ranks(job, pods).items()}


def _ranks(job: Json, pods: Sequence[Json]) -> dict[int, int]:
    """By the pod's place in the sequence."""
    places = Places(job)
    return ranks_of_places({at: places.of(pod) for at, pod in enumerate(pods)})


def training_container(pod: Json) -> str:
    """The name of the container that trains; sidecars may stand before it."""
    names = [container["name"] for container in pod["spec"]["containers"]]
    return next((str(name) for name in names if name in TRAINING_CONTAINERS), str(names[0]))
