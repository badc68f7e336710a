"""What the trainer caches of objects whose content it passes on: little of ConfigMaps, all of runtimes."""

from __future__ import annotations

import msgspec

from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.resources import Resource


class SnapshotData(Struct, frozen=True):
    runtime: str | None = None


class Snapshot(Struct, frozen=True):
    """A ConfigMap that may be a snapshot: of all others only the metadata is kept."""

    metadata: ObjectMeta
    data: SnapshotData = SnapshotData()


class Runtime(Struct, frozen=True):
    """A TrainingRuntime or ClusterTrainingRuntime whose spec stays as it is written."""

    metadata: ObjectMeta
    spec: Json | None = None
    """May be null in the cluster."""

    def json(self, resource: Resource) -> Json:
        """The object as it goes into a snapshot."""
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": msgspec.to_builtins(self.metadata),
            "spec": self.spec or {},
        }
