"""What these controllers read of claims, volumes and classes."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.scheduling.node_selectors import any_holds
from shunter.api.scheduling.storage_classes import class_named
from shunter.api.selectors import LabelSelector
from shunter.cluster.local_path import is_provisioned

WAIT_FOR_CONSUMER = "WaitForFirstConsumer"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""Annotation of a claim: the scheduler has chosen a node for its first pod, and none of the volumes there, so one may be made."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
DIRECTORY_FINALIZER = "shunter.dev/directory"
"""Finalizer of the volumes that the provisioner made: their directory goes before they do."""


class ClaimSpec(Struct, frozen=True):
    """`volume_name` is set once a volume was chosen."""

    access_modes: tuple[str, ...] = ()
    resources: Json = {}
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    volume_name: str = ""
    volume_attributes_class_name: str | None = None


class ClaimStatus(Struct, frozen=True):
    """`phase` is Pending, Bound or Lost; modes and capacity are those of the volume."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: Json = {}


class Claim(Struct, frozen=True):
    """A PersistentVolumeClaim."""

    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def is_bound(self) -> bool:
        """Whether its phase says so: a volume's name in its spec alone does not."""
        return self.status.phase == "Bound"

    @property
    def storage_class(self) -> str | None:
        """None asks for the default class, an empty one for a volume without a class."""
        return class_named(self.metadata.annotations, self.spec.storage_class_name)


class ClaimReference(Struct, frozen=True):
    """The claim that a volume is bound to, or, as long as it has no `uid`, is kept for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeSpec(Struct, frozen=True):
    """`host_path` is empty for volumes of all other types; `claim_ref` stays when the claim is gone."""

    access_modes: tuple[str, ...] = ()
    capacity: Json = {}
    claim_ref: ClaimReference | None = None
    persistent_volume_reclaim_policy: str = "Retain"
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    host_path: Json = {}
    node_affinity: Json = {}
    volume_attributes_class_name: str | None = None


class VolumeStatus(Struct, frozen=True):
    """`phase` is Available, Bound, Released or Failed."""

    phase: str = ""


class Volume(Struct, frozen=True):
    """A PersistentVolume, which has no namespace."""

    metadata: ObjectMeta
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def storage_class(self) -> str:
        """Empty for a volume without a class."""
        return class_named(self.metadata.annotations, self.spec.storage_class_name) or ""

    def is_on(self, labels: Mapping[str, str]) -> bool:
        """Whether nodes with these labels can mount it; all can where it does not say which."""
        required = self.spec.node_affinity.get("required")
        return required is None or any_holds(required.get("nodeSelectorTerms") or (), "", labels)

    @property
    def is_ours(self) -> bool:
        """Whether the local provisioner made it."""
        return is_provisioned(self.metadata.annotations)


class StorageClass(Struct, frozen=True):
    """With `volume_binding_mode` WaitForFirstConsumer a claim gets its volume when a pod with it has come. `reclaim_policy` is
    passed on to volumes that are made."""

    metadata: ObjectMeta
    provisioner: str = ""
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"
