"""What `kubectl get` shows of claims, volumes, classes and drivers, as kube-apiserver 1.36 writes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.printers.storage import PRINTERS

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def cells(group: str, kind: str, metadata: Json | None = None, **parts: Any) -> dict[str, Any]:
    printer = PRINTERS[group, kind]
    document = {"metadata": {"name": "x", "creationTimestamp": "2026-11-21T11:00:00Z", **(metadata or {})}, **parts}
    return dict(zip((one.name for one in printer.columns), printer.cells(document, NOW), strict=True))


@pytest.mark.parametrize(
    ("metadata", "spec", "status", "shown"),
    [
        pytest.param({}, {}, {"phase": "Pending"}, ("Pending", "", "", ""), id="pending"),
        pytest.param(
            {},
            {"volumeName": "v"},
            {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"]},
            ("Bound", "v", "1Gi", "RWO,ROX"),
            id="bound",
        ),
        pytest.param(
            {},
            {},
            {"phase": "Pending", "capacity": {"storage": "1Gi"}},
            ("Pending", "", "", ""),
            id="no capacity before it is bound",
        ),
        pytest.param(
            {}, {"volumeName": "v"}, {"phase": "Pending"}, ("Pending", "v", "0", ""), id="a volume that is not bound yet"
        ),
        pytest.param(
            {"deletionTimestamp": "2026-11-21T11:59:00Z"}, {}, {"phase": "Bound"}, ("Terminating", "", "", ""), id="deleted"
        ),
    ],
)
def test_a_claim_shows_its_volume_once_it_has_one(metadata: Json, spec: Json, status: Json, shown: tuple[str, ...]) -> None:
    row = cells("", "PersistentVolumeClaim", metadata, spec=spec, status=status)
    assert (row["Status"], row["Volume"], row["Capacity"], row["Access Modes"]) == shown


@pytest.mark.parametrize(("claim", "shown"), [(None, ""), ({"namespace": "n", "name": "c"}, "n/c")])
def test_a_volume_shows_its_claim(claim: Json | None, shown: str) -> None:
    spec = {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOncePod"], "claimRef": claim}
    row = cells("", "PersistentVolume", spec=spec, status={"phase": "Available"})
    assert (row["Claim"], row["Capacity"], row["Access Modes"]) == (shown, "5Gi", "RWX,RWOP")


@pytest.mark.parametrize(("value", "name"), [("true", "x (default)"), ("false", "x"), ("True", "x")])
def test_the_default_storage_class_is_marked(value: str, name: str) -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": value}
    row = cells("storage.k8s.io", "StorageClass", {"annotations": annotations}, provisioner="p")
    assert (row["Name"], row["ReclaimPolicy"], row["VolumeBindingMode"]) == (name, "Delete", "Immediate")


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        pytest.param({}, (True, "<unset>", "<none>"), id="defaults"),
        pytest.param(
            {"attachRequired": False, "tokenRequests": [{"audience": ""}]},
            (False, "", "<none>"),
            id="the API server's own audience",
        ),
        pytest.param(
            {"tokenRequests": [{"audience": "a"}, {"audience": "b"}], "volumeLifecycleModes": ["Persistent", "Ephemeral"]},
            (True, "a,b", "Persistent,Ephemeral"),
            id="several",
        ),
    ],
)
def test_a_driver_shows_what_it_asks_for(spec: Json, shown: tuple[Any, ...]) -> None:
    row = cells("storage.k8s.io", "CSIDriver", spec=spec)
    assert (row["AttachRequired"], row["TokenRequests"], row["Modes"]) == shown
