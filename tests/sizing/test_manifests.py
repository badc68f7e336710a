"""Manifests: what they ask for, their placeholders, and that every one of them is taken: ours and Kubernetes' own by the embedded
API server's admission, Karpenter's and Kueue's by what their CRDs say (crd_facts.yaml)."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest

from shunter.sizing import ManifestOptions
from shunter.sizing.instances import Instance, known_instances
from shunter.sizing.manifests import manifests
from shunter.sizing.options import JobApi
from sizing.made_manifests import CLUSTER_NODES, NAMED, by_kind, choice, faults

APIS: tuple[JobApi, ...] = ("trainjob", "pytorchjob")
EVERY = [
    (instance, nodes, api, kueue, named)
    for instance, nodes, api, kueue, named in itertools.product(
        [*known_instances().values(), CLUSTER_NODES], (1, 4), APIS, (False, True), (False, True)
    )
]


@pytest.mark.parametrize("instance", [*known_instances().values(), CLUSTER_NODES], ids=lambda instance: instance.name)
def test_every_manifest_is_taken(instance: Instance) -> None:
    for one, nodes, api, kueue, named in EVERY:
        if one is not instance:
            continue
        more = {**NAMED, "spot": nodes == 4, "reservation": "cr-0a1b"} if named else {}
        made = manifests(choice(instance, nodes), ManifestOptions(api=api, kueue=kueue, **more))
        assert {obj["kind"]: faults(obj) for obj in made.objects} == {obj["kind"]: [] for obj in made.objects}


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("NodePool", ("spec", "template", "spec", "expireAfter"), "31 days"),
        ("NodePool", ("spec", "template", "spec", "nodeClassRef", "group"), None),
        ("NodePool", ("spec", "disruption", "consolidateAfter"), None),
        ("NodePool", ("spec", "template", "spec", "expireafter"), "Never"),
        ("EC2NodeClass", ("spec", "subnetSelectorTerms"), []),
        ("EC2NodeClass", ("spec", "amiSelectorTerms"), [{"alias": "al2023"}]),
        ("ClusterQueue", ("spec", "resourceGroups", 0, "flavors"), []),
        ("ResourceQuota", ("spec", "hard", "pods"), "many"),
        ("TrainJob", ("spec", "trainer", "numNodes"), "two"),
        ("TrainJob", ("spec", "trainer", "nodes"), 2),
    ],
)
def test_what_is_wrong_would_be_seen(kind: str, path: tuple[str | int, ...], value: Any) -> None:
    obj = copy.deepcopy(by_kind(manifests(choice(), ManifestOptions(kueue=True, **NAMED)))[kind])
    place: Any = obj
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    assert faults(obj)


def test_on_nodes_that_are_there_no_pool_is_made() -> None:
    made = manifests(choice(CLUSTER_NODES), ManifestOptions(image="x"))
    assert set(by_kind(made)) == {"ResourceQuota", "LimitRange", "TrainJob"}
    patch = made.objects[-1]["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]
    assert "nodeSelector" not in patch["template"]["spec"]["template"]["spec"]


def test_names_for_a_pool_are_told_of_where_none_is_made() -> None:
    made = manifests(choice(CLUSTER_NODES), ManifestOptions(image="x", role="r", subnets=("subnet-1",), spot=True))
    assert made.notes == ("without effect, as no node pool is created: --role, --subnet, --spot",)
