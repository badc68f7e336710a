"""What the trainer caches of objects whose content it passes on: all of runtimes, and of ConfigMaps those of jobs."""

from __future__ import annotations

from typing import Any

import msgspec

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
