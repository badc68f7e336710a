"""Manifests: what they ask for, their holes, and that every one of them is taken: ours and Kubernetes' own by the embedded API
server's admission, Karpenter's and Kueue's by what their CRDs say (crd_facts.yaml)."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from shunter.errors import InputError
from shunter.migrate.pods import admission
from shunter.sizing import ManifestOptions, SizeOptions, size
from shunter.sizing.fits import MachineChoice, choice_of
from shunter.sizing.instances import Instance, known_instances
from shunter.sizing.manifests import HOLES, Manifests, manifests
from shunter.sizing.nodes import CLUSTER
from shunter.sizing.shapes import known_models

FACTS = yaml.load(Path(__file__).with_name("crd_facts.yaml").read_text(), yaml.CSafeLoader)["definitions"]
OURS = ("TrainJob", "PyTorchJob", "ResourceQuota", "LimitRange")
NAMED = {
    "image": "registry.example.com/train:1",
    "role": "KarpenterNodeRole",
    "subnets": ("subnet-0a1b",),
    "security_groups": ("sg-0a1b", "sg-2c3d"),
    "ami": "al2023@v20260801",
    "zone": "eu-west-1a",
}


def choice(instance: str | Instance = "p5.48xlarge", nodes: int = 2, model: str = "Llama-3.1-8B") -> MachineChoice:
    machine = known_instances()[instance] if isinstance(instance, str) else instance
    return choice_of(known_models()[model].shape, SizeOptions(seq=1024, strategy="fsdp"), machine, nodes)


def by_kind(made: Manifests) -> dict[str, Any]:
    return {obj["kind"]: obj for obj in made.objects}


def faults(obj: dict[str, Any]) -> list[str]:
    """What whoever serves this kind would say against it."""
    if obj["kind"] not in OURS:
        schema = {"$ref": f"#/definitions/{obj['kind']}", "definitions": FACTS}
        return [str(error.message) for error in jsonschema_rs.validator_for(schema).iter_errors(obj)]
    try:
        said = [f"unknown field {field}" for field in admission.unknown_fields(obj)]
        stored = admission.admitted(copy.deepcopy(obj))
    except admission.RefusedError as error:
        return [error.message]
    said += map(str, admission.schema_errors(stored))
    return [*said, *map(str, admission.cel_errors(stored)), *admission.rule_errors(stored)]


CLUSTER_NODES = Instance(
    "nodes with H100", CLUSTER, known_instances()["p5.48xlarge"].gpu, 8, 100.0, 500_000, available=4, is_type=False
)
EVERY = [
    (instance, nodes, api, kueue, named)
    for instance, nodes, api, kueue, named in itertools.product(
        [*known_instances().values(), CLUSTER_NODES], (1, 4), ("trainjob", "pytorchjob"), (False, True), (False, True)
    )
]


@pytest.mark.parametrize("instance", [*known_instances().values(), CLUSTER_NODES], ids=lambda instance: instance.name)
def test_every_manifest_is_taken(instance: Instance) -> None:
    for one, nodes, api, kueue, named in EVERY:
        if one is not instance:
            continue
        more = {**NAMED, "spot": nodes == 4, "reservation": "cr-0a1b"} if named else {}
        made = manifests(choice(instance, nodes), ManifestOptions(api=api, kueue=kueue, **more))  # type: ignore[arg-type]
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
    obj = copy.deepcopy(by_kind(manifests(choice(), ManifestOptions(kueue=True, **NAMED)))[kind])  # type: ignore[arg-type]
    place: Any = obj
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    assert faults(obj)


def test_a_job_has_a_pod_a_machine_and_asks_for_all_of_its_devices() -> None:
    job = by_kind(manifests(choice(nodes=2), ManifestOptions(**NAMED)))["TrainJob"]  # type: ignore[arg-type]
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
    job = by_kind(manifests(choice(nodes=4), ManifestOptions(api="pytorchjob", **NAMED)))["PyTorchJob"]  # type: ignore[arg-type]
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


def test_a_pool_for_training_outlives_a_month_and_is_never_packed() -> None:
    pool = by_kind(manifests(choice(nodes=2), ManifestOptions(**NAMED)))["NodePool"]["spec"]  # type: ignore[arg-type]
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


def test_the_quota_names_what_binds() -> None:
    hard = by_kind(manifests(choice(nodes=2), ManifestOptions()))["ResourceQuota"]["spec"]["hard"]
    assert hard == {"requests.nvidia.com/gpu": "16", "pods": "4", "requests.memory": "3493234Mi"}


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


def test_what_is_the_users_is_a_hole_by_its_name() -> None:
    made = manifests(choice(nodes=2), ManifestOptions())
    assert [(hole.object, hole.option) for hole in made.holes] == [
        ("EC2NodeClass training", "--role"),
        ("EC2NodeClass training", "--ami"),
        ("EC2NodeClass training", "--subnet"),
        ("EC2NodeClass training", "--security-group"),
        ("NodePool training", "--zone"),
        ("TrainJob training", "--image"),
    ]
    objects = by_kind(made)
    assert objects["EC2NodeClass"]["spec"]["role"] == "hole-role"
    assert objects["EC2NodeClass"]["spec"]["subnetSelectorTerms"] == [{"id": "subnet-hole"}]
    assert objects["TrainJob"]["metadata"]["annotations"] == {HOLES: "spec.trainer.image: --image"}
    for hole in made.holes:
        assert f"{hole.field}: {hole.option}" in objects[hole.object.split()[0]]["metadata"]["annotations"][HOLES]


def test_nothing_is_a_hole_when_all_is_named() -> None:
    made = manifests(choice(nodes=2), ManifestOptions(**NAMED))  # type: ignore[arg-type]
    assert made.holes == ()
    assert "hole" not in yaml.safe_dump(list(made.objects))


def test_on_nodes_that_are_there_no_pool_is_made() -> None:
    made = manifests(choice(CLUSTER_NODES), ManifestOptions(image="x"))
    assert set(by_kind(made)) == {"ResourceQuota", "LimitRange", "TrainJob"}
    patch = made.objects[-1]["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]
    assert "nodeSelector" not in patch["template"]["spec"]["template"]["spec"]


def test_names_for_a_pool_are_told_of_where_none_is_made() -> None:
    made = manifests(choice(CLUSTER_NODES), ManifestOptions(image="x", role="r", subnets=("subnet-1",), spot=True))
    assert made.notes == ("without effect, as no node pool is made: --role, --subnet, --spot",)


def test_machines_whose_allocatable_is_not_published_get_gpus_requested_only() -> None:
    made = manifests(choice("Standard_ND96isr_H100_v5"), ManifestOptions(image="x", kueue=True))
    assert made.objects[-1]["spec"]["trainer"]["resourcesPerNode"] == {
        "requests": {"nvidia.com/gpu": "8"},
        "limits": {"nvidia.com/gpu": "8"},
    }
    assert len(made.notes) == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "My Job"}, "--name 'My Job'"),
        ({"namespace": "a.b"}, "--namespace 'a.b'"),
        ({"subnets": ("vpc-1",)}, "--subnet 'vpc-1' is not an ID."),
        ({"security_groups": ("sg-",)}, "--security-group 'sg-' is not an ID."),
        ({"ami": "al2023@latest"}, "--ami 'al2023@latest' does not pin an image."),
        ({"reservation": "r-1"}, "--capacity-reservation 'r-1' is not an ID."),
        ({"api": "job"}, "--api 'job' is not known."),
    ],
)
def test_names_that_cannot_be_meant_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        ManifestOptions(**values)
    assert message in raised.value.message


def test_the_memory_that_pods_request_holds_what_the_formula_says_of_the_host() -> None:
    for option in size("Llama-3.1-8B").of("fits"):
        job = manifests(option.choice, ManifestOptions()).objects[-1]
        requested = int(job["spec"]["trainer"]["resourcesPerNode"]["requests"]["memory"].removesuffix("Mi"))
        assert requested <= option.choice.instance.memory_mib
