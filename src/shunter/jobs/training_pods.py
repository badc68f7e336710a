"""Which pods of a job train, in the order of their ranks, and which of their containers. Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from shunter.api.batch import COMPLETION_INDEX
from shunter.api.meta import Json
from shunter.api.trainer.runtime import DATASET_INITIALIZER, MODEL_INITIALIZER, NODE
from shunter.api.training.kinds import JOB_KINDS
from shunter.jobs.pods_up import INITIALIZER
from shunter.operator.overview import Members, is_v2

_GLOBAL_JOB = "jobset.sigs.k8s.io/job-global-index"
_JOB = "jobset.sigs.k8s.io/job-index"
_INITIALIZERS = {"dataset": DATASET_INITIALIZER, "model": MODEL_INITIALIZER}
"""Fields of `spec.initializer` of a TrainJob, and the replicated jobs that they need."""
Key = TypeVar("Key", bound=Hashable)
TRAINING_CONTAINERS = frozenset({NODE, *(kind.container for kind in JOB_KINDS)})


class Place(NamedTuple):
    """The position of a pod among those of its job."""

    label: str
    """The same for pods that replace each other."""
    role: str
    trains: bool
    created: str
    order: tuple[int, int]
    jobs_before: int
    """Jobs of the JobSet that come before the first of the same replicated job."""


class Places:
    """The places of the pods of one job."""

    def __init__(self, job: Json) -> None:
        self._members = Members(job)
        self._is_v2 = is_v2(job)
        self.initializers: frozenset[str] = _initializers(job) if self._is_v2 else frozenset()
        """Replicated jobs of a TrainJob that do not train, as the job itself names them: their pods may be gone."""

    def of(self, pod: Json) -> Place:
        """The place of one pod."""
        metadata, found = pod["metadata"], self._members.of(pod)
        order, jobs_before = (found.rank or 0, 0), 0
        if self._is_v2:
            labels = metadata.get("labels", {})
            order = int(labels.get(_GLOBAL_JOB, "0")), int(labels.get(COMPLETION_INDEX, "0"))
            jobs_before = order[0] - int(labels.get(_JOB, "0"))
        created = str(metadata.get("creationTimestamp", ""))
        return Place(found.label, found.role, found.rank is not None, created, order, jobs_before)


def _initializers(job: Json) -> frozenset[str]:
    """The status of a TrainJob names all its replicated jobs once its JobSet is made, those of its runtime as well."""
    requested = (job.get("spec") or {}).get("initializer") or {}
    statuses = (job.get("status") or {}).get("jobsStatus") or ()
    names = {str(one.get("name", "")) for one in statuses} | {
        name for field, name in _INITIALIZERS.items() if requested.get(field) is not None
    }
    return frozenset(name for name in names if name.endswith(INITIALIZER))


def ranks_of_places(places: Mapping[Key, Place], initializers: Collection[str]) -> dict[Key, int]:
    """The rank of each pod that trains, in order; of pods that replaced each other only of the last. Deleted pods may make ranks
    uncertain. `initializers` are those of `Places`: their pods need not exist."""
    latest = {places[key].label: key for key in sorted(places, key=lambda key: places[key].created) if places[key].trains}
    ranked = sorted(latest.values(), key=lambda key: places[key].order)
    # A JobSet counts the Jobs of initializers too, and they come first. One whose pods are deleted counts as one Job.
    prepare = {(place.role, place.order[0]) for place in places.values() if not place.trains}
    count = len(prepare) + len({*initializers} - {role for role, _ in prepare})
    orders = [(one.order[0] - min(count, one.jobs_before), one.order[1]) for one in (places[key] for key in ranked)]
    if all(completion == 0 for _, completion in orders):
        return {key: place for key, (place, _) in zip(ranked, orders, strict=True)}
    if all(place == 0 for place, _ in orders):
        return {key: completion for key, (_, completion) in zip(ranked, orders, strict=True)}
    return {key: rank for rank, key in enumerate(ranked)}


def training_pods(job: Json, pods: Sequence[Json]) -> list[Json]:
    """The pods that train, by rank; of pods that replaced each other the last."""
    return [pods[at] for at in _ranks(job, pods)]


def pods_by_rank(job: Json, pods: Sequence[Json]) -> dict[int, Json]:
    """The pods that train, each under its rank, in order."""
    return {rank: pods[at] for at, rank in _ranks(job, pods).items()}


def _ranks(job: Json, pods: Sequence[Json]) -> dict[int, int]:
    """The ranks, by the index of the pod."""
    places = Places(job)
    return ranks_of_places({at: places.of(pod) for at, pod in enumerate(pods)}, places.initializers)


def training_container(pod: Json) -> str:
    """The name of the container that trains; sidecars may come before it."""
    names = [container["name"] for container in pod["spec"]["containers"]]
    return next((str(name) for name in names if name in TRAINING_CONTAINERS), str(names[0]))
