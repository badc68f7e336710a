"""The class of a claim or a volume, and the class of claims that name none.

Sources: k8s.io/component-helpers 1.36 `storage/volume.GetPersistentVolumeClaimClass`, k8s.io/kubernetes 1.36
`pkg/volume/util.GetDefaultClass`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shunter.api.meta import EPOCH, Json, ObjectMeta

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
"""The annotation that named the class before there was a field. It still goes before the field."""
IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"
DEFAULT_MARKS = (IS_DEFAULT, "storageclass.beta.kubernetes.io/is-default-class")
"""The annotations of which one is `true` in a default class."""


def default_class(classes: Iterable[ObjectMeta]) -> str:
    """The name of the newest of the classes that are marked as default, of two of one second the first by name; empty when there
    is none."""
    marked = [one for one in classes if "true" in map(one.annotations.get, DEFAULT_MARKS)]
    newest = sorted(marked, key=lambda one: (-(one.creation_timestamp or EPOCH).timestamp(), one.name))
    return newest[0].name if newest else ""


def class_of(obj: Json) -> str | None:
    """The class of a claim or a volume as JSON; None where it names none, empty where it wants none."""
    return class_named(obj["metadata"].get("annotations") or {}, obj["spec"].get("storageClassName"))


def class_named(annotations: Mapping[str, str], field: str | None) -> str | None:
    """The class by the annotations and the field `storageClassName`."""
    return annotations.get(BETA_CLASS, field)
