"""What these controllers read of claims, volumes and classes."""

from __future__ import annotations

from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.selectors import LabelSelector
from shunter.cluster.local_path import is_provisioned

IS_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
WAIT_FOR_CONSUMER = "WaitForFirstConsumer"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""Annotation of a claim: the scheduler has chosen a node for its first pod, so the volume may be made."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
DIRECTORY_FINALIZER = "shunter.dev/directory"
"""Finalizer of the volumes that the provisioner made: their directory goes before they do."""


class ClaimSpec(Struct, frozen=True):
    access_modes: tuple[str, ...] = ()
    resources: Json = {}
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    volume_name: str = ""


class ClaimStatus(Struct, frozen=True):
    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: Json = {}


class Claim(Struct, frozen=True):
    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def is_bound(self) -> bool:
        return self.status.phase == "Bound"


class ClaimReference(Struct, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeSpec(Struct, frozen=True):
    access_modes: tuple[str, ...] = ()
    capacity: Json = {}
    claim_ref: ClaimReference | None = None
    persistent_volume_reclaim_policy: str = "Retain"
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    host_path: Json = {}


class VolumeStatus(Struct, frozen=True):
    phase: str = ""


class Volume(Struct, frozen=True):
    metadata: ObjectMeta
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def is_ours(self) -> bool:
        """Whether the local provisioner made it."""
        return is_provisioned(self.metadata.annotations)


class StorageClass(Struct, frozen=True):
    metadata: ObjectMeta
    provisioner: str = ""
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"
