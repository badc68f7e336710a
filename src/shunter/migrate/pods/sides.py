"""The pods that both sides make: of a v1 job by the v1 engine, of a TrainJob and its runtime by way of JobSet and Jobs.

Nothing here knows what pods look like: the operator's and the controllers' own functions make them, and the API server's own
defaults complete what they make. Tests hold every link of these chains to recordings of the originals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

import msgspec

from shunter.api.jobset import REPLICATED_JOB
from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES
from shunter.api.trainer.runtime import NODE
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.training.mpi import WORKER, MPIJobSpec
from shunter.cluster.controllers.job.pods import pods_of
from shunter.cluster.controllers.jobset.jobs import jobs_of
from shunter.errors import InputError
from shunter.migrate.options import Options
from shunter.migrate.pods.admission import ANY_PRIORITY_CLASS, PriorityClasses, admitted, admitted_once, title
from shunter.migrate.pods.alike import admitted_pods
from shunter.operator.trainer.render import Rendered, rendered
from shunter.operator.trainer.runtimes import shipped
from shunter.operator.trainer.snapshot import as_go_writes
from shunter.operator.training import gang
from shunter.operator.training.framework import AnyFramework, Settings
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.progress import Progress

_NEW = datetime(2000, 1, 1, tzinfo=UTC)
"""The moment at which a job is looked at that nothing has happened to; no pod depends on it."""


class NoPodsError(InputError):
    """Nothing can be made of a job."""


class OtherOperatorError(NoPodsError):
    """The job's pods are made by a program that is none of ours."""


@dataclass(frozen=True)
class Replica:
    """One pod of a job, as it is stored before anybody schedules it."""

    role: str
    """`Worker`; of a TrainJob the replicated job: `node`."""
    index: int
    """Among the pods of its role, over all Jobs of a replicated job."""
    pod: Json
    container: str
    """The container that trains; empty where no container does."""
    host: str
    """The name by which the other pods reach it; empty where none does."""

    @property
    def training(self) -> Json:
        """The container that trains; empty where none does."""
        containers: list[Json] = self.pod["spec"]["containers"]
        return next((one for one in containers if one["name"] == self.container), {})


@dataclass(frozen=True)
class V1:
    """A v1 job as the engine reads it, with its pods."""

    framework: AnyFramework
    job: AnyJob
    replicas: tuple[Replica, ...]


@dataclass(frozen=True)
class V2:
    """What becomes of a TrainJob, step by step; every object as it is stored."""

    train_job: Json
    runtime: Json
    rendered: Rendered
    jobset: Json
    jobs: tuple[Json, ...]
    replicas: tuple[Replica, ...]


def v1_pods(source: Json, options: Options = Options()) -> list[Replica]:  # noqa: B008
    """The pods of a v1 job in rank order. Raises NoPodsError for a job that gets none, RefusedError."""
    return [*v1_side(source, options).replicas]


def v2_pods(train_job: Json, runtime: Json | None) -> list[Replica]:
    """The pods of a TrainJob: by replicated job, Job and completion index. Raises as `v2_side`."""
    return [*v2_side(train_job, runtime).replicas]


def v1_side(source: Json, options: Options = Options(), classes: PriorityClasses = ANY_PRIORITY_CLASS) -> V1:  # noqa: B008
    """A v1 job and its pods. `options` say how the v1 operator was set up. Raises NoPodsError for a job that gets none
    (OtherOperatorError: none of ours), RefusedError for one that no API server would take."""
    framework = framework_of(source["kind"]).with_settings(Settings(cluster_domain=options.cluster_domain))
    if source["apiVersion"] != framework.info.resource.api_version:
        raise OtherOperatorError(
            f"{title(source)} is of {source['apiVersion']}, whose pods another operator creates; they cannot be compared.",
            "Compare a run of both instead.",
        )
    stored = admitted(source)
    stored.pop("status", None)
    view = _view(stored, framework.info.view)
    job = framework.read(view)
    faults, _ = framework.validate(view, None)
    stopped = framework.stopped(Observed(job=job, faults=tuple(faults)), Progress.of(job, _NEW))
    if stopped is not None:
        raise NoPodsError(f"{title(source)} gets no pods from the v1 operator: {stopped.conditions[-1].message}")
    pods = framework.pods(job)
    places = [*_roles(job)]
    members = (_member(options, job, role, pod) for (role, _), pod in zip(places, pods, strict=True))
    replicas = (
        Replica(role, index, pod, _trains(framework, job, role, pod), pod["metadata"]["name"])
        for (role, index), pod in zip(places, admitted_pods(members, classes), strict=True)
    )
    return V1(framework, job, tuple(replicas))


def v2_side(train_job: Json, runtime: Json | None, classes: PriorityClasses = ANY_PRIORITY_CLASS) -> V2:
    """A TrainJob with everything that follows from it. `runtime` None takes the shipped one that the job names. Raises
    NoPodsError when there is none of that name, BuildError when job and runtime do not go together, RefusedError."""
    if classes is ANY_PRIORITY_CLASS:
        return _known_side(msgspec.json.encode((train_job, runtime)))
    return _v2_side(train_job, runtime, classes)


@lru_cache(maxsize=4)
def _known_side(said: bytes) -> V2:
    """Cached, as each stage of a proof needs it."""
    train_job, runtime = msgspec.json.decode(said)
    return _v2_side(train_job, runtime, ANY_PRIORITY_CLASS)


def _v2_side(train_job: Json, runtime: Json | None, classes: PriorityClasses) -> V2:
    stored = admitted(train_job)
    view = _view(stored, TrainJob)
    blueprint = runtime_of(stored, runtime)
    made = rendered(view, blueprint)
    jobset = admitted(made.jobset)
    jobs = tuple(admitted(job) for job in jobs_of(jobset))
    return V2(stored, blueprint, made, jobset, jobs, tuple(_replicas(jobs, classes)))


def _replicas(jobs: tuple[Json, ...], classes: PriorityClasses) -> Iterator[Replica]:
    counts: dict[str, int] = {}
    for job in jobs:
        role = job["metadata"]["labels"][REPLICATED_JOB]
        for stored in admitted_pods(pods_of(job), classes):
            names = [container["name"] for container in stored["spec"]["containers"]]
            spec = stored["spec"]
            host = f"{spec.get('hostname', '')}.{spec['subdomain']}" if spec.get("subdomain") else ""
            yield Replica(role, counts.setdefault(role, 0), stored, NODE if NODE in names else "", host)
            counts[role] += 1


def _view(stored: Json, shape: type[Any]) -> Any:
    try:
        return msgspec.convert(stored, shape)
    except msgspec.ValidationError as error:
        raise NoPodsError(f"{title(stored)} cannot be read: {error}.") from error


def _roles(job: AnyJob) -> Iterator[tuple[str, int]]:
    for role in job.replicas:
        for index in range(job.replica_count(role)):
            yield role, index


def _trains(framework: AnyFramework, job: AnyJob, role: str, pod: Json) -> str:
    """The framework's container by name, or else the first. MPIJobs have a rule of their own: mpirun runs in the first container,
    its processes in the main one."""
    names = [container.get("name", "") for container in pod["spec"]["containers"]]
    name = framework.container
    if isinstance(job.spec, MPIJobSpec):
        name = job.spec.main_container if role == WORKER else ""
    return name if name in names else names[0]


def _member(options: Options, job: AnyJob, role: str, pod: Json) -> Json:
    """The pod as the v1 operator made it where its options name a gang scheduler, which no job does."""
    scheduler = options.gang.removeprefix("coscheduling:")
    return pod if scheduler in ("", "none") else gang.member(pod, job, role, gang.Gang(scheduler=scheduler))


def runtime_of(train_job: Json, runtime: Json | None) -> Json:
    """The runtime as the operator reads it; None is the shipped one that the job names. Raises NoPodsError when there is none,
    RefusedError."""
    if runtime is None:
        return _shipped(train_job)
    read, reference = _as_operator_reads(msgspec.json.encode(runtime)), train_job["spec"]["runtimeRef"]
    metadata, group = read["metadata"], read["apiVersion"].partition("/")[0]
    is_meant = (reference.get("kind"), reference.get("name"), reference.get("apiGroup")) == (
        read["kind"],
        metadata["name"],
        group,
    )
    if not is_meant or metadata.get("namespace", "") not in ("", train_job["metadata"]["namespace"]):
        raise NoPodsError(
            f"{title(train_job)} refers to the {reference.get('kind')} {reference.get('name')} of its namespace, which the "
            f"{title(runtime)} is not.",
            "Correct spec.runtimeRef, or the namespace of one of them.",
        )
    return read


@lru_cache(maxsize=64)
def _as_operator_reads(said: bytes) -> Json:
    """A runtime in JSON: the same for all of its jobs."""
    return as_go_writes(admitted_once(said))


def _shipped(train_job: Json) -> Json:
    name = train_job["spec"]["runtimeRef"]["name"]
    runtime = _shipped_by_name().get(name)
    if runtime is None:
        known = ", ".join(sorted(_shipped_by_name()))
        raise NoPodsError(
            f"{title(train_job)}: spec.runtimeRef.name is {name!r}, and no runtime of that name is at hand.",
            f"Give its manifest as well; shipped {CLUSTER_TRAINING_RUNTIMES.plural} are {known}.",
        )
    return runtime


@cache
def _shipped_by_name() -> dict[str, Json]:
    return {runtime["metadata"]["name"]: as_go_writes(admitted(runtime)) for runtime in shipped()}
