"""The generated CRDs say what upstream's say: facts from JobSet's release and from the specifications of both Kubeflow APIs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
import yaml

from shunter.api.crds.custom_kinds import CUSTOM_KINDS, CustomKind
from shunter.api.crds.generator import crd_of, first_sentence
from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.openapi import REQUIRED, doc, schema
from shunter.api.resources import Resource
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.cluster.apiserver.packaged_schemas import definitions

CRDS = {kind.resource.kind: crd_of(kind, definitions()) for kind in CUSTOM_KINDS}
JOBSET_FACTS = yaml.load((Path(__file__).parents[1] / "facts" / "jobset.yaml").read_text(), yaml.CSafeLoader)
IMMUTABLE = [("self == oldSelf", "field is immutable")]
TARGETS = ".spec.mlPolicy.torch.envInjection.targets"
POD_TEMPLATE = "replicatedJobs[].template.spec.template"
NOT_LISTED_IN_PODS = {"type", "format", "anyOf", "pattern", "x-kubernetes-int-or-string"}


def root(kind: str) -> Json:
    schema: Json = CRDS[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def nodes(schema: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every part of a schema with its path: `.spec.replicatedJobs[].name`, `{}` for the values of a map."""
    yield path or ".", schema
    for name, field in schema.get("properties", {}).items():
        yield from nodes(field, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{path}{{}}")


def facts(schema: Json, path: str = "") -> dict[str, Json]:
    found = {}
    for at, node in nodes(schema, path):
        shape = {"properties", "items", "additionalProperties", "description"}
        left_out = shape | NOT_LISTED_IN_PODS if f".spec.{POD_TEMPLATE}" in at else shape
        if said := {key: value for key, value in node.items() if key not in left_out}:
            found[at] = said
    return found


def at(kind: str, path: str) -> Json:
    return dict(nodes(root(kind)))[path]


def rules(node: Json) -> list[tuple[str, str]]:
    return [(rule["rule"], rule["message"]) for rule in node.get("x-kubernetes-validations", [])]


@pytest.mark.parametrize("kind", CRDS)
def test_schemas_are_structural(kind: str) -> None:
    for path, node in nodes(root(kind)):
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path
        assert not {key for key in node if key.startswith("x-shunter") or key in ("$ref", "allOf", "oneOf")}, path
        keys = node.get("x-kubernetes-list-map-keys", [])
        items = node.get("items", {})
        assert all(key in items.get("required", []) or "default" in items["properties"][key] for key in keys), path


def test_jobset_says_what_its_release_says() -> None:
    assert len(JOBSET_FACTS) > 500
    assert facts(root("JobSet")) == JOBSET_FACTS


@pytest.mark.parametrize("kind", ["TrainingRuntime", "ClusterTrainingRuntime"])
def test_the_template_of_a_runtime_is_a_whole_jobset_spec(kind: str) -> None:
    spec = at(kind, ".spec.template.spec")
    assert facts(spec, ".spec") == {path: said for path, said in JOBSET_FACTS.items() if path.startswith(".spec")}


@pytest.mark.parametrize("kind", CRDS)
def test_pod_templates_keep_only_the_five_fields_of_embedded_metadata(kind: str) -> None:
    embedded = [node for path, node in nodes(root(kind)) if path.endswith(".template.metadata")]
    assert embedded
    for node in embedded:
        assert sorted(node["properties"]) == ["annotations", "finalizers", "labels", "name", "namespace"]


@pytest.mark.parametrize(
    ("kind", "names", "scope", "columns", "subresources"),
    [
        (
            "PyTorchJob",
            ("pytorchjobs.kubeflow.org", "pytorchjob", "v1"),
            "Namespaced",
            [("State", ".status.conditions[-1:].type"), ("Age", ".metadata.creationTimestamp")],
            {
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.pytorchReplicaSpecs.Worker.replicas",
                    "statusReplicasPath": ".status.replicaStatuses.Worker.active",
                    "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
                },
            },
        ),
        (
            "TrainJob",
            ("trainjobs.trainer.kubeflow.org", "trainjob", "v1alpha1"),
            "Namespaced",
            [("State", ".status.conditions[-1:].type"), ("Age", ".metadata.creationTimestamp")],
            {"status": {}},
        ),
        ("TrainingRuntime", ("trainingruntimes.trainer.kubeflow.org", "trainingruntime", "v1alpha1"), "Namespaced", [], {}),
        (
            "ClusterTrainingRuntime",
            ("clustertrainingruntimes.trainer.kubeflow.org", "clustertrainingruntime", "v1alpha1"),
            "Cluster",
            [],
            {},
        ),
        (
            "JobSet",
            ("jobsets.jobset.x-k8s.io", "jobset", "v1alpha2"),
            "Namespaced",
            [
                ("TerminalState", ".status.terminalState"),
                ("Restarts", ".status.restarts"),
                ("Completed", '.status.conditions[?(@.type=="Completed")].status'),
                ("Suspended", ".spec.suspend"),
                ("Age", ".metadata.creationTimestamp"),
            ],
            {"status": {}},
        ),
    ],
    ids=["PyTorchJob", "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime", "JobSet"],
)
def test_names_columns_and_subresources(
    kind: str, names: tuple[str, str, str], scope: str, columns: list[tuple[str, str]], subresources: Json
) -> None:
    crd = CRDS[kind]
    version = crd["spec"]["versions"][0]
    assert (crd["metadata"]["name"], crd["spec"]["names"]["singular"], version["name"]) == names
    assert crd["spec"]["names"]["listKind"] == f"{kind}List"
    assert crd["spec"]["scope"] == scope
    assert [(column["name"], column["jsonPath"]) for column in version.get("additionalPrinterColumns", [])] == columns
    assert version.get("subresources", {}) == subresources


@pytest.mark.parametrize("kind", JOB_KINDS, ids=lambda kind: kind.resource.kind)
def test_job_kinds_of_kubeflow_v1_are_called_shown_and_scaled_as_upstreams(kind: JobKind) -> None:
    name = kind.resource.kind
    crd = CRDS[name]
    assert crd["spec"]["names"] == {
        "kind": name,
        "listKind": f"{name}List",
        "plural": f"{name.lower()}s",
        "singular": name.lower(),
    }
    (version,) = (version for version in crd["spec"]["versions"] if version["name"] == "v1")
    columns = [(column["name"], column["jsonPath"]) for column in version["additionalPrinterColumns"]]
    assert columns == [("State", ".status.conditions[-1:].type"), ("Age", ".metadata.creationTimestamp")]
    scaled = {"PyTorchJob": "pytorchReplicaSpecs", "PaddleJob": "paddleReplicaSpecs", "JAXJob": "jaxReplicaSpecs"}
    path = version["subresources"].get("scale", {}).get("specReplicasPath")
    assert path == (f".spec.{scaled[name]}.Worker.replicas" if name in scaled else None)


@pytest.mark.parametrize("kind", [kind.resource.kind for kind in JOB_KINDS])
def test_a_job_of_kubeflow_v1_has_one_default_and_one_rule_of_its_own(kind: str) -> None:
    own = {path: node for path, node in nodes(root(kind)) if ".template" not in path}
    assert {path: node["default"] for path, node in own.items() if "default" in node} == {".spec.runPolicy.suspend": False}
    assert {path: rules(node) for path, node in own.items() if rules(node)} == {
        ".spec.runPolicy.schedulingPolicy.queue": [
            ("self == oldSelf", "spec.runPolicy.schedulingPolicy.queue is immutable"),
        ]
    }


@pytest.mark.parametrize("kind", [kind.resource.kind for kind in JOB_KINDS])
def test_a_job_of_kubeflow_v1_has_no_enums_and_no_limits(kind: str) -> None:
    limits = {"enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties"}
    assert [path for path, node in nodes(root(kind)) if limits & set(node)] == []


def test_what_a_pytorchjob_requires() -> None:
    own = {path: node["required"] for path, node in nodes(root("PyTorchJob")) if "required" in node and ".template" not in path}
    assert own == {
        ".spec": ["pytorchReplicaSpecs"],
        ".spec.elasticPolicy.metrics[]": ["type"],
        ".spec.elasticPolicy.metrics[].containerResource": ["container", "name", "target"],
        ".spec.elasticPolicy.metrics[].containerResource.target": ["type"],
        ".spec.elasticPolicy.metrics[].external": ["metric", "target"],
        ".spec.elasticPolicy.metrics[].external.metric": ["name"],
        ".spec.elasticPolicy.metrics[].external.metric.selector.matchExpressions[]": ["key", "operator"],
        ".spec.elasticPolicy.metrics[].external.target": ["type"],
        ".spec.elasticPolicy.metrics[].object": ["describedObject", "metric", "target"],
        ".spec.elasticPolicy.metrics[].object.describedObject": ["kind", "name"],
        ".spec.elasticPolicy.metrics[].object.metric": ["name"],
        ".spec.elasticPolicy.metrics[].object.metric.selector.matchExpressions[]": ["key", "operator"],
        ".spec.elasticPolicy.metrics[].object.target": ["type"],
        ".spec.elasticPolicy.metrics[].pods": ["metric", "target"],
        ".spec.elasticPolicy.metrics[].pods.metric": ["name"],
        ".spec.elasticPolicy.metrics[].pods.metric.selector.matchExpressions[]": ["key", "operator"],
        ".spec.elasticPolicy.metrics[].pods.target": ["type"],
        ".spec.elasticPolicy.metrics[].resource": ["name", "target"],
        ".spec.elasticPolicy.metrics[].resource.target": ["type"],
        ".status.conditions[]": ["status", "type"],
        ".status.replicaStatuses{}.labelSelector.matchExpressions[]": ["key", "operator"],
    }


PATCH = ".spec.runtimePatches[].trainingRuntimeSpec.template.spec"
POD_PATCH = f"{PATCH}.replicatedJobs[].template.spec.template.spec"


@pytest.mark.parametrize(
    ("kind", "path", "said"),
    [
        ("TrainJob", ".spec", {"required": ["runtimeRef"]}),
        ("TrainJob", ".spec.runtimeRef", {"required": ["name"]}),
        ("TrainJob", ".spec.runtimeRef.name", {"minLength": 1, "maxLength": 253}),
        ("TrainJob", ".spec.runtimeRef.apiGroup", {"default": "trainer.kubeflow.org", "maxLength": 253}),
        ("TrainJob", ".spec.runtimeRef.kind", {"default": "ClusterTrainingRuntime", "maxLength": 253}),
        ("TrainJob", ".spec.initializer.dataset.storageUri", {"maxLength": 2048}),
        ("TrainJob", ".spec.initializer.model.env", {"maxItems": 128, "x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", ".spec.initializer.model.secretRef.name", {"default": ""}),
        ("TrainJob", ".spec.trainer.image", {"maxLength": 500}),
        ("TrainJob", ".spec.trainer.command", {"maxItems": 128, "x-kubernetes-list-type": "atomic"}),
        ("TrainJob", ".spec.trainer.args[]", {"maxLength": 1048576}),
        ("TrainJob", ".spec.trainer.env", {"maxItems": 128, "x-kubernetes-list-type": "map"}),
        ("TrainJob", ".spec.initializer.dataset.secretRef", {"x-kubernetes-map-type": "atomic"}),
        ("TrainJob", ".spec.trainer.numNodes", {"type": "integer", "format": "int32"}),
        ("TrainJob", ".spec.trainer.numProcPerNode", {"type": "integer", "format": "int32"}),
        ("TrainJob", ".spec.trainer.resourcesPerNode.claims", {"x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", ".spec.suspend", {"default": False}),
        ("TrainJob", ".spec.activeDeadlineSeconds", {"minimum": 1, "format": "int64"}),
        ("TrainJob", ".spec.managedBy", {"default": "trainer.kubeflow.org/trainjob-controller", "maxLength": 253}),
        ("TrainJob", ".spec.runtimePatches", {"maxItems": 16, "x-kubernetes-list-map-keys": ["manager"]}),
        ("TrainJob", ".spec.runtimePatches[].manager", {"minLength": 1, "maxLength": 253}),
        ("TrainJob", ".spec.runtimePatches[].time", {"format": "date-time"}),
        ("TrainJob", f"{PATCH}.replicatedJobs", {"maxItems": 100, "x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", f"{POD_PATCH}.containers", {"maxItems": 64, "x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", f"{POD_PATCH}.containers[].volumeMounts", {"maxItems": 128, "x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", f"{POD_PATCH}.containers[].volumeMounts[]", {"required": ["mountPath", "name"]}),
        ("TrainJob", f"{POD_PATCH}.containers[].name", {"minLength": 1, "maxLength": 253}),
        ("TrainJob", f"{POD_PATCH}.containers[].env", {"maxItems": 128, "x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", f"{POD_PATCH}.initContainers", {"maxItems": 64, "x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", f"{POD_PATCH}.volumes", {"maxItems": 128, "x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", f"{POD_PATCH}.imagePullSecrets", {"maxItems": 64, "x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", f"{POD_PATCH}.serviceAccountName", {"maxLength": 253}),
        ("TrainJob", f"{POD_PATCH}.tolerations", {"maxItems": 128, "x-kubernetes-list-type": "atomic"}),
        ("TrainJob", f"{POD_PATCH}.schedulingGates", {"maxItems": 16, "x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", f"{POD_PATCH}.terminationGracePeriodSeconds", {"minimum": 0, "format": "int64"}),
        ("TrainJob", ".status", {"minProperties": 1}),
        ("TrainJob", ".status.conditions", {"maxItems": 8, "x-kubernetes-list-map-keys": ["type"]}),
        ("TrainJob", ".status.jobsStatus", {"maxItems": 100, "x-kubernetes-list-map-keys": ["name"]}),
        ("TrainJob", ".status.jobsStatus[]", {"required": ["active", "failed", "name", "ready", "succeeded", "suspended"]}),
        ("TrainJob", ".status.trainerStatus.progressPercentage", {"minimum": 0, "maximum": 100}),
        ("TrainJob", ".status.jobsStatus[].active", {"minimum": 0, "format": "int32"}),
        ("TrainJob", ".status.trainerStatus.estimatedRemainingSeconds", {"minimum": 0, "format": "int32"}),
        ("TrainJob", ".status.trainerStatus.metrics[].name", {"minLength": 1, "maxLength": 64}),
        ("TrainJob", ".status.trainerStatus.metrics[].value", {"minLength": 1, "maxLength": 64}),
        ("TrainJob", ".status.trainerStatus.lastUpdatedTime", {"format": "date-time"}),
        ("TrainJob", ".status.trainerStatus.metrics", {"maxItems": 256, "x-kubernetes-list-type": "atomic"}),
        ("TrainingRuntime", ".spec", {"minProperties": 1}),
        ("TrainingRuntime", ".spec.template", {"minProperties": 1}),
        (
            "TrainingRuntime",
            TARGETS,
            {"maxItems": 16, "x-kubernetes-list-map-keys": ["jobName"]},
        ),
        (
            "TrainingRuntime",
            f"{TARGETS}[].containerNames",
            {"minItems": 1, "maxItems": 8, "x-kubernetes-list-type": "set"},
        ),
        ("TrainingRuntime", f"{TARGETS}[]", {"required": ["containerNames", "jobName"]}),
        ("TrainingRuntime", f"{TARGETS}[].jobName", {"minLength": 1, "maxLength": 253}),
        ("TrainingRuntime", f"{TARGETS}[].containerNames[]", {"maxLength": 63}),
        ("TrainingRuntime", ".spec.mlPolicy.mpi.numProcPerNode", {"default": 1}),
        ("TrainingRuntime", ".spec.mlPolicy.mpi.mpiImplementation", {"default": "OpenMPI", "enum": ["OpenMPI", ""]}),
        ("TrainingRuntime", ".spec.mlPolicy.mpi.sshAuthMountPath", {"default": "/root/.ssh", "maxLength": 4096}),
        ("TrainingRuntime", ".spec.mlPolicy.mpi.runLauncherAsNode", {"default": False}),
        ("TrainingRuntime", ".spec.mlPolicy.flux.numProcPerNode", {"default": 1}),
        ("TrainingRuntime", ".spec.podGroupPolicy.coscheduling.scheduleTimeoutSeconds", {"default": 60}),
        ("TrainingRuntime", ".spec.podGroupPolicy.volcano.networkTopology.mode", {"default": "hard", "enum": ["hard", "soft"]}),
        ("TrainingRuntime", ".spec.podGroupPolicy.volcano.networkTopology.highestTierAllowed", {"default": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_trainer_says_what_its_release_says(kind: str, path: str, said: Json) -> None:
    assert at(kind, path).items() >= said.items()


GONE = (
    "this field of Trainer {} was removed: use spec.runtimePatches. Kueue 0.17 and later write those; "
    "earlier versions do not work with this release"
)


PROCESSES_MOVED = (
    "this field of Trainer 2.1 was removed: set spec.trainer.numProcPerNode of the TrainJob to a number. Without one it "
    "is as auto was: a process for each GPU, else for each CPU"
)


def test_every_rule_of_a_trainjob() -> None:
    """Those of v2.3.0, but for a suspended job's number of nodes, and of fields that it does not have any more."""
    fixed = ("image", "command", "args", "env", "resourcesPerNode", "numProcPerNode")
    but_nodes = " && ".join(
        f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})" for name in fixed
    )
    nodes_while_suspended = (
        "(has(self.suspend) && self.suspend) || !has(self.trainer) || !has(oldSelf.trainer) || "
        "(has(self.trainer.numNodes) == has(oldSelf.trainer.numNodes) && "
        "(!has(self.trainer.numNodes) || self.trainer.numNodes == oldSelf.trainer.numNodes))"
    )
    uri = (
        "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')",
        "storageUri may be empty, or it must be a valid URI (scheme://...)",
    )
    managers = "trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"
    immutable_in_patches = [
        "serviceAccountName",
        "volumes",
        "initContainers",
        "containers",
        "imagePullSecrets",
        "securityContext",
        "terminationGracePeriodSeconds",
    ]
    assert {path: rules(node) for path, node in nodes(root("TrainJob")) if rules(node)} == {
        ".": [
            (
                "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
                "metadata.name must match RFC 1035 DNS label format",
            ),
            ("size(self.metadata.name) <= 63", "metadata.name must be no more than 63 characters"),
        ],
        ".spec.runtimeRef": IMMUTABLE,
        ".spec.initializer": IMMUTABLE,
        ".spec.initializer.dataset.storageUri": [uri],
        ".spec.initializer.model.storageUri": [uri],
        ".spec": [(nodes_while_suspended, "trainer.numNodes can only be modified while the TrainJob is suspended")],
        ".spec.trainer": [(but_nodes, "field is immutable")],
        ".spec.podTemplateOverrides": [("size(self) == 0", GONE.format("2.1"))],
        ".spec.podSpecOverrides": [("size(self) == 0", GONE.format("2.0"))],
        ".spec.activeDeadlineSeconds": IMMUTABLE,
        ".spec.managedBy": [
            (f"self in {list(managers)}", f"ManagedBy must be {managers[0]} or {managers[1]} if set"),
            *IMMUTABLE,
        ],
        ".spec.runtimePatches[].manager": IMMUTABLE,
        **{f"{POD_PATCH}.{field}": IMMUTABLE for field in immutable_in_patches},
        ".status.trainerStatus": [("has(self.lastUpdatedTime)", "lastUpdatedTime is required when trainerStatus is present")],
    }


@pytest.mark.parametrize("kind", ["TrainingRuntime", "ClusterTrainingRuntime"])
def test_every_rule_of_a_runtime_beside_those_of_its_jobset(kind: str) -> None:
    """v2.3.0 has none for MPI's numProcPerNode, and does not keep the gang schedulers apart."""
    own = {path: rules(node) for path, node in nodes(root(kind)) if not path.startswith(".spec.template")}
    assert {path: [message for _, message in found] for path, found in own.items() if found} == {
        ".spec.mlPolicy": ["Only one of the policy can be configured"],
        ".spec.mlPolicy.torch.numProcPerNode": [PROCESSES_MOVED],
        ".spec.mlPolicy.flux.numProcPerNode": ["NumProcPerNode in fluxPolicy must be >= 1"],
        f"{TARGETS}[].containerNames": [
            "containerNames must not include the main node container because PET_* envs are always injected into it"
        ],
    }


def test_rules_of_list_items_stand_on_the_items() -> None:
    policies = at("JobSet", ".spec.volumeClaimPolicies[]")
    assert [message for _, message in rules(policies)] == ["namespace cannot be set for VolumeClaimPolicies templates"]


class Engine(Struct, frozen=True):
    cylinders: Annotated[int, REQUIRED, schema(minimum=1), doc("How many.")] = 4
    notes: Annotated[Json, doc("Not described.")] = {}


class Car(Struct, frozen=True):
    """A car.

    Not part of its description.
    """

    metadata: ObjectMeta = ObjectMeta()
    engine: Engine = Engine()


def test_plain_json_without_a_marker_is_a_mistake_in_the_type() -> None:
    with pytest.raises(TypeError, match=r"has no schema: mark it with builtin\(\) or shape\(\)"):
        crd_of(CustomKind(Resource("example.com", "v1", "Car", "cars"), Car), {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("One\n\nTwo", "One."),
        ("", ""),
        ("word " * 40, ("word " * 29).strip() + "..."),
    ],
    ids=["two sentences", "two paragraphs", "nothing", "too long"],
)
def test_descriptions_are_cut_to_a_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
