"""Claims, volumes and classes: what is filled in, what may change, and what is refused (Kubernetes 1.36)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shunter.api.meta import Json

Write = Callable[..., Any]
FORBIDDEN = (
    'persistentvolumeclaims "c" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that '
    "provisions the pvc must support resize"
)


def claim(size: str = "1Gi", **spec: Any) -> Json:
    resources = {"requests": {"storage": size}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec},
    }


def storage_class(name: str, made: str = "2026-01-01T00:00:00Z", *, default: bool = False, **fields: Any) -> Json:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    metadata = {"name": name, "creationTimestamp": made, "annotations": annotations}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, "provisioner": "a/b", **fields}


def bound(write: Write, **spec: Any) -> Json:
    found: Json = write(claim(**spec)).object
    return {**found, "status": {"phase": "Bound"}}


def resized(old: Json, size: str) -> Json:
    return {**old, "spec": {**old["spec"], "resources": {"requests": {"storage": size}}}}


def test_a_claim_without_class_gets_the_newest_default(write: Write) -> None:
    classes = [
        storage_class("old", "2025-01-01T00:00:00Z", default=True),
        storage_class("new", "2026-01-01T00:00:00Z", default=True),
        storage_class("newest", "2026-06-01T00:00:00Z"),
    ]
    assert write(claim(), stored=classes).object["spec"]["storageClassName"] == "new"
    assert write(claim(storageClassName=""), stored=classes).object["spec"]["storageClassName"] == "", "none is a choice too"
    assert "storageClassName" not in write(claim(), stored=classes[2:]).object["spec"]


def test_claims_and_volumes_are_protected_while_they_are_in_use(write: Write) -> None:
    assert write(claim()).object["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"size": "0"}, "spec.resources[storage]: Invalid value"),
        ({"size": "-1Gi"}, "spec.resources[storage]: Invalid value"),
        ({"resources": {}}, "spec.resources[storage]: Required value"),
        ({"accessModes": []}, "spec.accessModes: Required value: at least 1 access mode is required"),
        ({"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]}, "spec.accessModes: Forbidden: may not use ReadWriteOncePod"),
        ({"accessModes": ["Any"]}, "spec.accessModes: Unsupported value"),
        ({"storageClassName": "A b"}, "spec.storageClassName: Invalid value"),
        ({"volumeMode": "Raw"}, "spec.volumeMode: Unsupported value"),
    ],
)
def test_a_claim_that_nothing_can_fulfil_is_refused(write: Write, spec: Json, says: str) -> None:
    answer = write(claim(**spec))
    assert answer.code == 422
    assert says in answer.message


def test_a_claim_grows_where_its_class_allows_it(write: Write) -> None:
    old = bound(write, storageClassName="grows")
    classes = [storage_class("grows", allowVolumeExpansion=True), storage_class("stays")]
    assert write(resized(old, "2Gi"), old, stored=classes).code == 200
    assert write(resized(old, "1024Mi"), old, stored=[]).code == 200, "the same size in other words"
    assert write(resized(old, "512Mi"), old, stored=classes).code == 200, "what it asked for and has not got"
    old["status"]["capacity"] = {"storage": "512Mi"}
    assert write(resized(old, "513Mi"), old, stored=classes).code == 200
    shrunk = write(resized(old, "512Mi"), old, stored=classes)
    assert (shrunk.code, "field can not be less than status.capacity" in shrunk.message) == (422, True)


@pytest.mark.parametrize("name", ["stays", "gone", ""])
def test_a_claim_does_not_grow_where_its_class_does_not_say_so(write: Write, name: str) -> None:
    """As of a real API server, so that a job's claim that is patched here can be patched there."""
    old = bound(write, storageClassName=name)
    answer = write(resized(old, "2Gi"), old, stored=[storage_class("stays")])
    assert (answer.code, answer.message) == (403, FORBIDDEN)


def test_a_claim_that_is_not_bound_keeps_its_size(write: Write) -> None:
    old: Json = write(claim(storageClassName="grows")).object
    answer = write(resized(old, "2Gi"), old, stored=[storage_class("grows", allowVolumeExpansion=True)])
    assert (answer.code, "spec is immutable after creation" in answer.message) == (422, True)


def test_a_default_class_that_came_later_may_be_set_and_nothing_else_changed(write: Write) -> None:
    old = bound(write)
    assert write({**old, "spec": {**old["spec"], "storageClassName": "late"}}, old).code == 200
    assert write({**old, "spec": {**old["spec"], "accessModes": ["ReadWriteMany"]}}, old).code == 422
    given = bound(write, storageClassName="a")
    assert write({**given, "spec": {**given["spec"], "storageClassName": "b"}}, given).code == 422
    placed = {**old, "spec": {**old["spec"], "volumeName": "v"}}
    assert write(placed, old).code == 200
    assert write({**old, "spec": {**old["spec"], "volumeName": "w"}}, placed).code == 422


def test_a_class_says_at_once_how_its_volumes_are_made(write: Write) -> None:
    answer = write(storage_class("a"))
    assert (answer.object["reclaimPolicy"], answer.object["volumeBindingMode"]) == ("Delete", "Immediate")
    old = answer.object
    assert write({**old, "allowVolumeExpansion": True}, old).code == 200
    for name, value in (("provisioner", "c/d"), ("reclaimPolicy", "Retain"), ("parameters", {"a": "b"})):
        refused = write({**old, name: value}, old)
        assert (refused.code, f"{name}: " in refused.message) == (422, True)
