"""Which owners of pods have replicas that a budget counts."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.apps import Deployment, ReplicaSet, ReplicationController, StatefulSet
from shunter.api.meta import Json, OwnerReference
from shunter.cluster.controllers.disruption.replica_owners import ReplicaOwners
from shunter.kube.cache.store import Store


def _json(name: str, replicas: int, owner: Json | None = None) -> Json:
    references = [{"apiVersion": "v1", "uid": "u", "controller": True} | owner] if owner else []
    metadata = {"namespace": "n", "name": name, "uid": f"uid-of-{name}", "ownerReferences": references}
    return {"metadata": metadata, "spec": {"replicas": replicas}}


@pytest.fixture
def owners() -> ReplicaOwners:
    deployments: Store[Deployment] = Store()
    replica_sets: Store[ReplicaSet] = Store()
    controllers: Store[ReplicationController] = Store()
    stateful_sets: Store[StatefulSet] = Store()
    deployments.put(msgspec.convert(_json("web", 4), Deployment))
    replica_sets.put(msgspec.convert(_json("alone", 3), ReplicaSet))
    replica_sets.put(msgspec.convert(_json("rollout", 2, {"kind": "Deployment", "name": "web"}), ReplicaSet))
    replica_sets.put(msgspec.convert(_json("orphan", 2, {"kind": "Deployment", "name": "gone"}), ReplicaSet))
    replica_sets.put(msgspec.convert(_json("custom", 2, {"kind": "Rollout", "name": "web"}), ReplicaSet))
    controllers.put(msgspec.convert(_json("old", 5), ReplicationController))
    stateful_sets.put(msgspec.convert(_json("db", 6), StatefulSet))
    return ReplicaOwners(deployments, replica_sets, controllers, stateful_sets)


@pytest.mark.parametrize(
    ("kind", "name", "scale"),
    [
        ("ReplicaSet", "alone", ("uid-of-alone", 3)),
        pytest.param("ReplicaSet", "rollout", ("uid-of-web", 4), id="of-a-deployment-its-replicas"),
        pytest.param("ReplicaSet", "orphan", None, id="of-a-deployment-that-is-gone"),
        pytest.param("ReplicaSet", "custom", ("uid-of-custom", 2), id="of-a-kind-that-is-not-known-its-own"),
        ("ReplicaSet", "gone", None),
        ("ReplicationController", "old", ("uid-of-old", 5)),
        ("ReplicationController", "gone", None),
        ("StatefulSet", "db", ("uid-of-db", 6)),
        ("StatefulSet", "gone", None),
        pytest.param("Job", "db", None, id="a-job-has-none"),
    ],
)
def test_the_owner_and_its_replicas(owners: ReplicaOwners, kind: str, name: str, scale: tuple[str, int] | None) -> None:
    assert owners.scale("n", OwnerReference(api_version="v1", kind=kind, name=name, uid="u", controller=True)) == scale
    assert owners.scale("other", OwnerReference(api_version="v1", kind=kind, name=name, uid="u", controller=True)) is None
