"""The class of a claim or a volume.

Source: k8s.io/component-helpers 1.36 `storage/volume.GetPersistentVolumeClaimClass`.
"""

from __future__ import annotations

from collections.abc import Mapping

from shunter.api.meta import Json

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
"""The annotation that named the class before there was a field. It still goes before the field."""


def class_of(obj: Json) -> str | None:
    """The class of a claim or a volume as JSON; None where it names none, empty where it wants none."""
    return class_named(obj["metadata"].get("annotations") or {}, obj["spec"].get("storageClassName"))


def class_named(annotations: Mapping[str, str], field: str | None) -> str | None:
    """The class by the annotations and the field `storageClassName`."""
    return annotations.get(BETA_CLASS, field)
