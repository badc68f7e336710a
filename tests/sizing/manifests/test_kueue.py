"""Queues that admit a job as a whole."""

from __future__ import annotations

from shunter.sizing import ManifestOptions
from shunter.sizing.manifests import manifests
from sizing.made_manifests import by_kind, choice


def test_kueues_quota_covers_every_resource_that_the_job_requests() -> None:
    made = by_kind(manifests(choice(nodes=2), ManifestOptions(kueue=True, name="llm", namespace="team-a")))
    requests = made["TrainJob"]["spec"]["trainer"]["resourcesPerNode"]["requests"]
    group = made["ClusterQueue"]["spec"]["resourceGroups"][0]
    assert set(group["coveredResources"]) == set(requests)
    assert [one["name"] for one in group["flavors"][0]["resources"]] == group["coveredResources"]
    quotas = {one["name"]: one["nominalQuota"] for one in group["flavors"][0]["resources"]}
    assert quotas == {"cpu": "344610m", "memory": "3489138Mi", "nvidia.com/gpu": "16", "vpc.amazonaws.com/efa": "64"}
    assert made["TrainJob"]["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "llm"}
    assert made["LocalQueue"]["spec"] == {"clusterQueue": "llm"}
    assert made["ClusterQueue"]["spec"]["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "team-a"}}
