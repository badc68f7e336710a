"""What a quota for one job limits."""

from __future__ import annotations

from shunter.sizing import ManifestOptions
from shunter.sizing.manifests import manifests
from sizing.made_manifests import by_kind, choice


def test_the_quota_names_what_binds() -> None:
    hard = by_kind(manifests(choice(nodes=2), ManifestOptions()))["ResourceQuota"]["spec"]["hard"]
    assert hard == {"requests.nvidia.com/gpu": "16", "pods": "4", "requests.memory": "3493234Mi"}
