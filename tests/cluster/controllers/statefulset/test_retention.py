"""Whose the claims of StatefulSets are."""

from __future__ import annotations

import pytest

from cluster.controllers.workloads.world import CLAIM, STATEFUL, World, key
from shunter.api.meta import MetadataOnly


@pytest.mark.parametrize(
    ("policy", "owners"),
    [
        ({"whenDeleted": "Retain", "whenScaled": "Retain"}, [None, None]),
        ({"whenDeleted": "Delete", "whenScaled": "Retain"}, ["StatefulSet", "StatefulSet"]),
        ({"whenDeleted": "Retain", "whenScaled": "Delete"}, [None, "Pod"]),
        ({"whenDeleted": "Delete", "whenScaled": "Delete"}, ["StatefulSet", "Pod"]),
    ],
)
def test_claims_belong_to_whom_the_retention_policy_says(policy: dict[str, str], owners: list[str | None]) -> None:
    world = World()
    world.create(
        "StatefulSet",
        **{**STATEFUL, "replicas": 2},
        volumeClaimTemplates=[CLAIM],
        persistentVolumeClaimRetentionPolicy=policy,
    )
    world.settle_with_pods()
    world.cluster.patch("Pod", key("x-1"), {"metadata": {"finalizers": ["test/hold"]}})
    world.change("StatefulSet", {"replicas": 1})
    world.settle_with_pods()
    claims = sorted(world.all("PersistentVolumeClaim", MetadataOnly), key=lambda one: one.metadata.name)
    assert [one.metadata.controller.kind if one.metadata.controller else None for one in claims] == owners
