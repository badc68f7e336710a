"""Pools of machines for a training."""

from __future__ import annotations

from shunter.sizing import ManifestOptions
from shunter.sizing.manifests import manifests
from sizing.made_manifests import NAMED, by_kind, choice


def test_a_pool_for_training_outlives_a_month_and_is_never_packed() -> None:
    pool = by_kind(manifests(choice(nodes=2), ManifestOptions(**NAMED)))["NodePool"]["spec"]
    assert pool["template"]["spec"]["expireAfter"] == "Never"
    assert pool["disruption"]["consolidationPolicy"] == "WhenEmpty"
    assert pool["limits"] == {"nvidia.com/gpu": 16}
    assert {one["key"]: one["values"] for one in pool["template"]["spec"]["requirements"]} == {
        "node.kubernetes.io/instance-type": ["p5.48xlarge"],
        "karpenter.sh/capacity-type": ["on-demand"],
        "topology.kubernetes.io/zone": ["eu-west-1a"],
    }


def test_reserved_machines_come_before_others_and_spot_is_said_to_need_checkpoints() -> None:
    made = manifests(choice(), ManifestOptions(reservation="cr-0a1b", spot=True))
    requirements = by_kind(made)["NodePool"]["spec"]["template"]["spec"]["requirements"]
    assert requirements[1]["values"] == ["reserved", "spot"]
    assert by_kind(made)["EC2NodeClass"]["spec"]["capacityReservationSelectorTerms"] == [{"id": "cr-0a1b"}]
    assert any("save checkpoints" in note for note in made.notes)
