"""The value that flows through the plugins: a JobSet in the making, and what it is made from.

Plugins change the model in place. What they may change was copied when the model was built, one level at a time: the runtime's
own JSON is shared with the cache and is never touched.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.api.meta import Json
from shunter.api.trainer.runtime import ANCESTOR_LABEL, ANCESTOR_TRAINER, NODE, MLPolicy, PodGroupPolicy
from shunter.api.trainer.trainjob import Trainer, TrainJob
from shunter.errors import InputError
from shunter.operator.trainer.resources import canonical_resources
from shunter.operator.trainer.statusserver.place import StatusServerPlace


class BuildError(InputError):
    """A job and a runtime that do not go together; the text goes into the job's event, text and remedy into a condition.

    `reason` is the condition's."""

    def __init__(self, message: str, remedy: str = "", *, reason: str = "RuntimeInvalid") -> None:
        super().__init__(message, remedy)
        self.reason = reason


class PodSet(msgspec.Struct):
    """The pods of one replicated job."""

    name: str
    ancestor: str
    """Which section of the TrainJob overrides it (`trainer`, `dataset-initializer`, ...); empty for none."""
    replicas: int
    """Jobs of the replicated job."""
    count: int
    """Pods of each of them."""
    template: Json
    """The pod template's parts that no plugin changes."""
    containers: list[Json]
    init_containers: list[Json]
    volumes: list[Json]

    def container(self, name: str) -> Json | None:
        """The container itself, not a copy; None if no container (init containers aside) has this name."""
        return next((container for container in self.containers if container.get("name") == name), None)


class Model(msgspec.Struct):
    """A JobSet in the making. `model_of` makes it, plugins change it in place, `jobset` makes the object of it."""

    job: TrainJob
    policy: MLPolicy | None
    pod_groups: PodGroupPolicy | None
    trainer: Trainer | None
    """The job's `trainer` section as plugins complete it."""
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: Json
    """The JobSet's spec with the job's patches merged, without the replicated jobs' pods: those are in `pod_sets`."""
    status_server: StatusServerPlace | None = None
    """Where the job's pods report their progress; None without a status server."""
    pod_sets: list[PodSet] = []
    pod_labels: dict[str, str] = {}
    """Labels for the pods of all replicated jobs."""
    pod_annotations: dict[str, str] = {}
    """Annotations for the pods of all replicated jobs."""

    @property
    def template(self) -> Json:
        """The JobSet's template with the job's patches merged, as no plugin changed it."""
        return {"spec": self.spec}

    @property
    def trainer_set(self) -> PodSet | None:
        """The pods that train: the first replicated job with the ancestor `trainer`."""
        return next((pod_set for pod_set in self.pod_sets if pod_set.ancestor == ANCESTOR_TRAINER), None)

    @property
    def node_container(self) -> Json | None:
        """The container that trains."""
        pod_set = self.trainer_set
        return pod_set.container(NODE) if pod_set else None

    @property
    def is_launcher_node(self) -> bool:
        """Whether the launcher of an MPI job trains, too."""
        return self.policy is not None and self.policy.mpi is not None and bool(self.policy.mpi.run_launcher_as_node)

    def pod_set(self, name: str) -> PodSet | None:
        """The pods of the replicated job of this name; None where the runtime has none."""
        return next((pod_set for pod_set in self.pod_sets if pod_set.name == name), None)


def model_of(job: TrainJob, policy: MLPolicy | None, pod_groups: PodGroupPolicy | None, template: Json) -> Model:
    """The model before any plugin: every replicated job with as many pods as the runtime says. `template` is the runtime's
    with the job's patches merged."""
    metadata, jobset_spec = template.get("metadata") or {}, template.get("spec") or {}
    model = Model(
        job=job,
        policy=policy,
        pod_groups=pod_groups,
        trainer=job.spec.trainer,
        labels={**(metadata.get("labels") or {})},
        annotations={**(metadata.get("annotations") or {})},
        spec=jobset_spec,
    )
    for replicated_job in jobset_spec.get("replicatedJobs") or []:
        job_template = replicated_job.get("template") or {}
        job_spec = job_template.get("spec") or {}
        pod_template = job_spec.get("template") or {}
        pod_spec = pod_template.get("spec") or {}
        ancestor = ((job_template.get("metadata") or {}).get("labels") or {}).get(ANCESTOR_LABEL, "")
        model.pod_sets.append(
            PodSet(
                name=replicated_job.get("name", ""),
                ancestor=ancestor,
                replicas=replicated_job.get("replicas", 1),
                count=_count(job_spec, ancestor, policy),
                template=pod_template,
                containers=[_own(container) for container in pod_spec.get("containers") or []],
                init_containers=[_own(container) for container in pod_spec.get("initContainers") or []],
                volumes=[*(pod_spec.get("volumes") or [])],
            )
        )
    return model


def _count(job_spec: Json, ancestor: str, policy: MLPolicy | None) -> int:
    parallelism = job_spec.get("parallelism")
    count = 1 if parallelism is None else int(parallelism)
    if ancestor == ANCESTOR_TRAINER and policy is not None:
        count = 1 if policy.num_nodes is None else policy.num_nodes
    return max(count, 1)


def _own(container: Json) -> Json:
    """A copy whose lists may be appended to, the empty ones as well; nulls, as a snapshot edited by hand has them, are left out.
    Quantities are as the API server keeps them, or a JobSet that is applied again would differ from itself."""
    own: dict[str, Any] = {name: value for name, value in container.items() if value is not None}
    for name in ("env", "ports", "volumeMounts"):
        if name in own:
            own[name] = [*own[name]]
    if own.get("resources"):
        own["resources"] = canonical_resources(own["resources"])
    return own
