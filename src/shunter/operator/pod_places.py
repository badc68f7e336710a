"""The place of a pod among those of its job, and its rank: one numbering for logs, top, plot, the page, the doctor and the record
of failures. Pure; input is plain JSON.

Pods of a v1 job are numbered by role (master or chief first), those of a native Job by their index, those of a TrainJob in the
order of the Jobs of its JobSet, without initializers: of the runtime deepspeed-distributed nodes 0 and 1 are ranks 0 and 1, the
launcher is rank 2.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from shunter.api.batch import COMPLETION_INDEX
from shunter.api.jobset import JOBSET_NAME, REPLICATED_JOB
from shunter.api.meta import Json, Struct
from shunter.api.trainer.runtime import DATASET_INITIALIZER, MODEL_INITIALIZER
from shunter.operator import native_jobs
from shunter.operator.native_jobs import is_native
from shunter.operator.overview import V1_JOB, V2_JOB, is_v2, v1_ranks_before

NATIVE_ROLE, V2_ROLE = "rank", "node"
"""The role of all pods of a Job, and that of most pods of TrainJobs."""
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
GLOBAL_JOB_INDEX = "jobset.sigs.k8s.io/job-global-index"
"""Labels of a JobSet's pods: the number of their Job in its replicated job, and among all Jobs."""
PLACE_LABELS = (JOBSET_NAME, REPLICATED_JOB, JOB_INDEX, GLOBAL_JOB_INDEX, COMPLETION_INDEX)
"""The labels of a JobSet's pod by which it is numbered."""
_INITIALIZERS = {"dataset": DATASET_INITIALIZER, "model": MODEL_INITIALIZER}
"""Fields of `spec.initializer` of a TrainJob, and the replicated jobs that they need."""


class _Numbered(Struct, frozen=True):
    role: str
    index: int

    @property
    def label(self) -> str:
        """`master-0`, `worker-2`, `node-1`: what stands before its log lines. The same for pods that replace each other."""
        return f"{self.role}-{self.index}"


class Place(_Numbered, frozen=True):
    """A pod's place in its job, by its labels alone."""

    trains: bool = True
    """False for initializers."""
    container: str = ""
    """The container that trains, of a kind that gives it no name."""
    job: int = 0
    """The number of its Job among all of the JobSet; 0 for a job of another kind."""
    pod: int = 0
    """Its number in that Job; the rank for a job of another kind."""
    jobs_before: int = 0
    """Jobs of the JobSet that come before the first of the same replicated job."""


class Member(_Numbered, frozen=True):
    """A pod's place in its job, with its rank."""

    rank: int | None
    """None for pods that do not train (initializers)."""
    container: str = ""
    """The container that trains, of a kind that gives it no name."""


def place(job: Json, pod: Json) -> Place:
    """The place of a pod of this job."""
    return Places(job).of(pod)


class Places:
    """The places of the pods of one job; what depends on the job alone is computed once."""

    def __init__(self, job: Json) -> None:
        self._job = job
        self._is_native, self._is_v2 = is_native(job), is_v2(job)
        self._before: dict[str, int] = {}
        self.initializers: frozenset[str] = _initializers(job) if self._is_v2 else frozenset()
        """Replicated jobs of a TrainJob that do not train, as the job itself names them: their pods may be gone."""

    def of(self, pod: Json) -> Place:
        """The place of one pod."""
        labels = pod["metadata"].get("labels", {})
        if self._is_native:
            role, index = _native_place(labels)
            return Place(role, index, container=pod["spec"]["containers"][0]["name"], pod=index)
        if self._is_v2:
            role, index = _v2_place(labels)
            in_group = label_number(labels, JOB_INDEX)
            job = label_number(labels, GLOBAL_JOB_INDEX) if GLOBAL_JOB_INDEX in labels else in_group
            number = label_number(labels, COMPLETION_INDEX)
            return Place(role, index, not is_initializer(role), job=job, pod=number, jobs_before=max(0, job - in_group))
        role, index = _v1_place(labels)
        if role not in self._before:
            self._before[role] = v1_ranks_before(self._job, role)
        return Place(role, index, pod=self._before[role] + index)


class Ranks:
    """The ranks of the pods of one job. One is certain once the last pod of each Job before its own has been added."""

    def __init__(self, initializers: Collection[str] = (), places: Iterable[Place] = ()) -> None:
        """`initializers` are those of `Places`: their pods need not exist."""
        self._expected = {*initializers}
        self._initializers: dict[int, str] = {}
        self._sizes: dict[int, int] = {}
        """The pods of each Job that has several, by its number."""
        for one in places:
            self.add(one)

    def add(self, added: Place) -> None:
        """Adds a place that the job has."""
        if not added.trains:
            self._initializers[added.job] = added.role
        elif added.pod:
            self._sizes[added.job] = max(self._sizes.get(added.job, 1), added.pod + 1)

    def of(self, found: Place) -> int | None:
        """The rank of a pod in this place; None if it does not train. The same for pods that replace each other."""
        if not found.trains:
            return None
        # A JobSet counts the Jobs of initializers too, and they come first. One whose pods are deleted counts as one Job.
        initializers = sum(job < found.job for job in self._initializers) + len(self._expected - {*self._initializers.values()})
        more = sum(size - 1 for job, size in self._sizes.items() if job < found.job)
        return found.job - min(initializers, found.jobs_before) + more + found.pod


class Members:
    """The roles, indices and ranks of the pods of one job. `pods` are all that are known of it."""

    def __init__(self, job: Json, pods: Iterable[Json]) -> None:
        self._places = Places(job)
        self._ranks = Ranks(self._places.initializers, map(self._places.of, pods))

    def of(self, pod: Json) -> Member:
        """The role, index and rank of one pod, which is known from now on."""
        found = self._places.of(pod)
        self._ranks.add(found)
        return Member(found.role, found.index, self._ranks.of(found), found.container)


def first_ranks(ranked: Iterable[tuple[int, Place]]) -> dict[str, int]:
    """The rank of the first pod of each role, by the ranks and places of some pods."""
    return {found.role: rank - found.index for rank, found in ranked}


def recorded_rank(job: Json, pod: str, rank: int, first: Mapping[str, int]) -> int:
    """The rank of the pod of this name, which may be gone, by `first_ranks`; else `rank`, which is recorded of it. Earlier
    operators recorded the number of a TrainJob's pod in its replicated job; and the rank of a launcher changes with numNodes."""
    role, index = named_place(job, pod)
    return first[role] + index if role in first else rank


def named_place(job: Json, pod: str) -> tuple[str, int]:
    """Role and index of a TrainJob's pod by its name, which JobSet and Job make of them; no role for that of another job."""
    match = re.fullmatch(rf"{re.escape(job['metadata']['name'])}-(.+)-(\d+)-(\d+)-[a-z0-9]+", pod) if is_v2(job) else None
    return (match[1], int(match[2]) + int(match[3])) if match else ("", 0)


def is_initializer(replicated_job: str) -> bool:
    """Whether the pods of a replicated job with this name do not train."""
    return replicated_job.endswith("initializer")


def place_by_labels(labels: Mapping[str, str]) -> tuple[str, str, int]:
    """The name of the job that labels of a pod tell, and the role and index of its `Place` in it; no name for a pod of no job."""
    if name := labels.get(V2_JOB):
        return name, *_v2_place(labels)
    if name := labels.get(V1_JOB):
        return name, *_v1_place(labels)
    if (name := labels.get(native_jobs.JOB_NAME)) and COMPLETION_INDEX in labels:
        return name, *_native_place(labels)
    return "", "", 0


def label_number(labels: Mapping[str, str], label: str) -> int:
    """The number in a label; 0 for one that is missing, or that people changed to something else."""
    value = labels.get(label, "")
    return int(value) if value.isdecimal() else 0


def _native_place(labels: Mapping[str, str]) -> tuple[str, int]:
    return NATIVE_ROLE, label_number(labels, COMPLETION_INDEX)


def _v2_place(labels: Mapping[str, str]) -> tuple[str, int]:
    # Of a group of several Jobs each has one pod, of one Job with several pods that Job is the first.
    return labels.get(REPLICATED_JOB, V2_ROLE), label_number(labels, JOB_INDEX) + label_number(labels, COMPLETION_INDEX)


def _v1_place(labels: Mapping[str, str]) -> tuple[str, int]:
    return labels.get("training.kubeflow.org/replica-type", "worker"), label_number(labels, "training.kubeflow.org/replica-index")


def _initializers(job: Json) -> frozenset[str]:
    """The status of a TrainJob names all its replicated jobs once its JobSet is made, those of its runtime as well."""
    requested = (job.get("spec") or {}).get("initializer") or {}
    statuses = (job.get("status") or {}).get("jobsStatus") or ()
    names = {str(one.get("name", "")) for one in statuses} | {
        name for field, name in _INITIALIZERS.items() if requested.get(field) is not None
    }
    return frozenset(filter(is_initializer, names))
