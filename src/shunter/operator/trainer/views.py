"""What the trainer caches: all of runtimes and of the ConfigMaps of jobs, as it passes them on; of JobSets what it looks at."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.api.jobset import JobSetStatus
from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.resources import TRAIN_JOBS, Resource


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
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": msgspec.to_builtins(self.metadata),
            "spec": self.spec or {},
        }


class LiveJobSetSpec(Struct, frozen=True):
    suspend: bool | None = None
    failure_policy: Json | None = None
    volume_claim_policies: tuple[Json, ...] = ()


class LiveJobSet(Struct, frozen=True):
    """A JobSet; what may be sent back of its spec is as it is stored, with the fields that another release of JobSet adds."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LiveJobSetSpec = LiveJobSetSpec()
    status: JobSetStatus = JobSetStatus()
