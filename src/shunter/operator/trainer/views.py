"""What the trainer caches: whole runtimes and ConfigMaps of jobs, and the fields that it reads of JobSets, Jobs and pods."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from shunter.api.core import Pod, PodSpec, PodStatus
from shunter.api.jobset import JOBSET_NAME, REPLICATED_JOB, JobSetStatus
from shunter.api.meta import Condition, Json, ObjectMeta, Struct, true_condition
from shunter.api.resources import TRAIN_JOBS, Resource
from shunter.operator.pod_places import PLACE_LABELS
from shunter.operator.rank_failures import has_failure


class ConfigMap(Struct, frozen=True):
    """A ConfigMap. Of those that no TrainJob owns only the metadata is kept: there are many, and some are large."""

    metadata: ObjectMeta
    data: dict[str, str] | None = None

    def __post_init__(self) -> None:
        owner = self.metadata.controller
        if self.data is not None and (owner is None or owner.kind != TRAIN_JOBS.kind):
            msgspec.structs.force_setattr(self, "data", None)


class Runtime(Struct, frozen=True):
    """A TrainingRuntime or ClusterTrainingRuntime whose spec stays as it is written, whatever it is."""

    metadata: ObjectMeta
    spec: Any = None

    def json(self, resource: Resource) -> Json:
        """The object as it goes into a snapshot."""
        return resource.typed({"metadata": msgspec.to_builtins(self.metadata), "spec": self.spec or {}})


class _PodCount(Struct, frozen=True):
    parallelism: int | None = None


class _CountedTemplate(Struct, frozen=True):
    spec: _PodCount = _PodCount()


class LiveReplicatedJob(Struct, frozen=True):
    """A replicated job of a JobSet: how many Jobs it has, and how many pods each of these has."""

    name: str = ""
    replicas: int = 1
    template: _CountedTemplate = _CountedTemplate()


class LiveJobSetSpec(Struct, frozen=True):
    """What `LiveJobSet` keeps of a spec: `failure_policy` and `volume_claim_policies` as they are stored, of `replicated_jobs`
    only name and numbers."""

    suspend: bool | None = None
    replicated_jobs: tuple[LiveReplicatedJob, ...] = ()
    failure_policy: Json | None = None
    volume_claim_policies: tuple[Json, ...] = ()


class LiveJobSet(Struct, frozen=True):
    """A JobSet; what may be sent back of its spec is as it is stored, with the fields that another release of JobSet adds."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LiveJobSetSpec = LiveJobSetSpec()
    status: JobSetStatus = JobSetStatus()


class _PodSpec(Struct, frozen=True):
    node_selector: dict[str, str] = {}
    tolerations: tuple[Json, ...] = ()
    scheduling_gates: tuple[Json, ...] = ()


class _PodTemplate(Struct, frozen=True):
    spec: _PodSpec = _PodSpec()


class _JobSpec(Struct, frozen=True):
    suspend: bool = False
    template: _PodTemplate = _PodTemplate()


class _JobStatus(Struct, frozen=True):
    conditions: tuple[Condition, ...] = ()
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int | None = None


class JobOfSet(Struct, frozen=True):
    """A Job of a JobSet: how its pods stand, and where they may run. Its other labels and its annotations are not kept."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _JobSpec = _JobSpec()
    status: _JobStatus = _JobStatus()

    def __post_init__(self) -> None:
        kept = {name: value for name, value in self.metadata.labels.items() if name == REPLICATED_JOB}
        msgspec.structs.force_setattr(self, "metadata", msgspec.structs.replace(self.metadata, labels=kept, annotations={}))

    @property
    def replicated_job(self) -> str:
        """Which of the JobSet's replicated jobs it is of."""
        return self.metadata.labels.get(REPLICATED_JOB, "")

    def has(self, condition: str) -> bool:
        """Whether the condition of this type is True."""
        return true_condition(self.status.conditions, condition) is not None


class _RawMeta(ObjectMeta, frozen=True):
    """Metadata of which most is not decoded."""

    labels: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]
    annotations: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]
    owner_references: msgspec.Raw = msgspec.Raw(b"[]")  # type: ignore[assignment]
    finalizers: msgspec.Raw = msgspec.Raw(b"[]")  # type: ignore[assignment]


class _RestartPolicy(Struct, frozen=True):
    restart_policy: str = PodSpec().restart_policy


_MARK = re.compile(rb'"Failed"|"DisruptionTarget"|"exitCode": *[^0 ]')
"""In the status of a pod in which something may have failed; programs that end well have exit code 0."""


class RankPod(Pod, frozen=True):
    """A pod of a JobSet. Unless something in it failed, only its identity is decoded and kept: this takes a third of the time and
    half of the memory."""

    metadata: _RawMeta
    spec: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]
    status: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]

    def __post_init__(self) -> None:
        raw = bytes(self.status)
        may_have_failed = _MARK.search(raw) is not None
        labels = msgspec.json.decode(self.metadata.labels, type=dict[str, str]) if may_have_failed else {}
        metadata = ObjectMeta(
            name=self.metadata.name,
            namespace=self.metadata.namespace,
            uid=self.metadata.uid,
            resource_version=self.metadata.resource_version,
            creation_timestamp=self.metadata.creation_timestamp,
            deletion_timestamp=self.metadata.deletion_timestamp,
            deletion_grace_period_seconds=self.metadata.deletion_grace_period_seconds,
            labels={name: value for name, value in labels.items() if name in PLACE_LABELS},
        )
        msgspec.structs.force_setattr(self, "metadata", metadata)
        policy = msgspec.json.decode(self.spec, type=_RestartPolicy).restart_policy if may_have_failed else ""
        msgspec.structs.force_setattr(self, "spec", PodSpec(restart_policy=policy))
        status = msgspec.json.decode(raw, type=PodStatus) if may_have_failed else PodStatus()
        msgspec.structs.force_setattr(self, "status", status)

    @property
    def has_failure(self) -> bool:
        """Whether anything in it may have failed, by `rank_failures.has_failure`."""
        return has_failure(self)

    @property
    def jobset(self) -> str:
        """The name of its JobSet; empty while nothing failed in it."""
        return cast("dict[str, str]", self.metadata.labels).get(JOBSET_NAME, "")
