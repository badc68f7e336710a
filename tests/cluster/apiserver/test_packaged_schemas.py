"""The packaged definitions: complete, self-contained, and as small in memory as the idle cluster needs them to be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from shunter.api.crds.custom_kinds import CUSTOM_KINDS
from shunter.cluster.apiserver.packaged_schemas import (
    definition_names,
    definitions,
    packaged_crd,
    packaged_crds,
)

REFERENCE_PREFIX = "#/components/schemas/"


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def test_every_reference_leads_to_a_definition() -> None:
    for name, schema in definitions().items():
        for reference in references(schema):
            assert reference.startswith(REFERENCE_PREFIX), name
            assert reference.removeprefix(REFERENCE_PREFIX) in definitions(), name


def test_nothing_is_left_of_the_json_schema_form() -> None:
    text = json.dumps(dict(definitions()))
    assert "$defs" not in text
    assert '"null"]' not in text
    assert definitions()["io.k8s.api.core.v1.Pod"]["properties"]["kind"].keys() == {"description", "type"}


@pytest.mark.parametrize(
    "gvk",
    [
        *[("", "v1", kind) for kind in ("Pod", "Service", "ConfigMap", "Secret", "Namespace", "Node", "Event", "ServiceAccount")],
        *[("", "v1", kind) for kind in ("PersistentVolumeClaim", "PersistentVolume", "ResourceQuota", "LimitRange", "Status")],
        *[("", "v1", kind) for kind in ("ReplicationController", "PodTemplate", "Endpoints", "Binding", "DeleteOptions")],
        ("batch", "v1", "Job"),
        ("batch", "v1", "CronJob"),
        ("apps", "v1", "Deployment"),
        ("autoscaling", "v1", "Scale"),
        ("autoscaling", "v2", "HorizontalPodAutoscaler"),
        ("coordination.k8s.io", "v1", "Lease"),
        ("discovery.k8s.io", "v1", "EndpointSlice"),
        ("events.k8s.io", "v1", "Event"),
        ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
        ("scheduling.k8s.io", "v1", "PriorityClass"),
        ("storage.k8s.io", "v1", "StorageClass"),
        ("networking.k8s.io", "v1", "NetworkPolicy"),
        ("policy", "v1", "PodDisruptionBudget"),
        ("node.k8s.io", "v1", "RuntimeClass"),
        ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        ("authentication.k8s.io", "v1", "TokenReview"),
        ("authorization.k8s.io", "v1", "SelfSubjectAccessReview"),
    ],
    ids=lambda gvk: "/".join(gvk),
)
def test_a_kind_that_clients_use_is_there(gvk: tuple[str, str, str]) -> None:
    assert definition_names()[gvk] in definitions()


def test_what_merges_and_server_side_apply_need_is_kept() -> None:
    containers = definitions()["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert definitions()["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"]["default"] == "TCP"


def test_a_property_that_is_itself_named_ref_survives() -> None:
    schema = definitions()["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"]
    assert schema["properties"]["$ref"] == {"type": "string"}


def test_beside_a_reference_stands_nothing_that_openapi_would_ignore() -> None:
    metadata = definitions()["io.k8s.api.core.v1.Pod"]["properties"]["metadata"]
    assert metadata["allOf"] == [{"$ref": REFERENCE_PREFIX + "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]
    assert "description" in metadata


def test_a_definition_is_parsed_once() -> None:
    name = "io.k8s.api.core.v1.Pod"
    assert definitions()[name] is definitions()[name]


def test_an_unknown_definition_is_a_key_error() -> None:
    assert "io.example.Nothing" not in definitions()
    with pytest.raises(KeyError):
        definitions()["io.example.Nothing"]


def test_the_crds_of_all_custom_kinds_are_packaged() -> None:
    names = [f"{kind.resource.plural}.{kind.resource.group}" for kind in CUSTOM_KINDS]
    assert [crd["metadata"]["name"] for crd in packaged_crds()] == sorted(names)


def test_a_definition_is_found_by_its_kind() -> None:
    for definition in packaged_crds():
        spec = definition["spec"]
        assert packaged_crd(spec["group"], spec["names"]["kind"]) == definition
    assert packaged_crd("kubeflow.org", "Job") is None
    assert packaged_crd("batch", "../x") is None
    assert packaged_crd("trainer.kubeflow.org", "trainjob") is None
