"""The job of a choice of machines."""

from __future__ import annotations

import pytest

from shunter.errors import InputError
from shunter.sizing import ManifestOptions
from shunter.sizing.manifests import manifests
from shunter.sizing.options import JobApi
from sizing.made_manifests import NAMED, by_kind, choice


def test_a_job_has_a_pod_a_machine_and_asks_for_all_of_its_devices() -> None:
    job = by_kind(manifests(choice(nodes=2), ManifestOptions(**NAMED)))["TrainJob"]
    trainer = job["spec"]["trainer"]
    assert (trainer["numNodes"], trainer["numProcPerNode"], trainer["image"]) == (2, 8, "registry.example.com/train:1")
    assert trainer["resourcesPerNode"] == {
        "requests": {"cpu": "172305m", "memory": "1744569Mi", "nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"},
        "limits": {"memory": "1744569Mi", "nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"},
    }
    assert {"name": "NCCL_NET", "value": "AWS Libfabric"} in trainer["env"]
    pods = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"][
        "template"
    ]
    assert pods["metadata"]["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}
    assert pods["spec"]["nodeSelector"] == {"node.kubernetes.io/instance-type": "p5.48xlarge"}
    assert pods["spec"]["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_a_v1_job_is_the_same_on_each_machine() -> None:
    job = by_kind(manifests(choice(nodes=4), ManifestOptions(api="pytorchjob", **NAMED)))["PyTorchJob"]
    replicas = job["spec"]["pytorchReplicaSpecs"]
    assert {role: replicas[role]["replicas"] for role in replicas} == {"Master": 1, "Worker": 3}
    assert replicas["Master"]["template"] == replicas["Worker"]["template"]
    assert job["spec"]["nprocPerNode"] == "8"


def test_one_machine_needs_no_interfaces_between_machines_and_no_zone() -> None:
    made = by_kind(manifests(choice(nodes=1), ManifestOptions(image="x")))
    trainer = made["TrainJob"]["spec"]["trainer"]
    assert "env" not in trainer
    assert "vpc.amazonaws.com/efa" not in trainer["resourcesPerNode"]["limits"]
    assert [one["key"] for one in made["NodePool"]["spec"]["template"]["spec"]["requirements"]] == [
        "node.kubernetes.io/instance-type",
        "karpenter.sh/capacity-type",
    ]


@pytest.mark.parametrize(
    ("api", "nodes", "most"), [("trainjob", 1, 48), ("trainjob", 12, 47), ("pytorchjob", 1, 54), ("pytorchjob", 12, 53)]
)
def test_a_name_is_refused_that_is_too_long_for_pods_or_services(api: JobApi, nodes: int, most: int) -> None:
    assert manifests(choice(nodes=nodes), ManifestOptions(api=api, name="a" * most))
    with pytest.raises(InputError, match=f"leave it at most {most}"):
        manifests(choice(nodes=nodes), ManifestOptions(api=api, name="a" * (most + 1)))
