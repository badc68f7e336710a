"""What is said of a field of v1 by its path."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shunter.api.meta import Json
from shunter.api.training.kinds import JOB_KINDS
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.migrate.conversion.one_job import NOT_UNDERSTOOD
from shunter.migrate.survey.explaining import fields

V1_KINDS = {kind.resource.kind for kind in JOB_KINDS}


def schema_fields(schema: Json, path: str) -> Iterator[str]:
    """The paths of a schema's fields down to lists, maps without structure and pod templates."""
    for name, inner in (schema.get("properties") or {}).items():
        values = inner.get("additionalProperties")
        if name == "template":
            yield f"{path}.{name}.spec"
        elif isinstance(values, dict) and values.get("properties"):
            yield from schema_fields(values, f"{path}.{name}.Worker")
        elif inner.get("properties"):
            yield from schema_fields(inner, f"{path}.{name}")
        else:
            yield f"{path}.{name}"


def all_fields() -> list[str]:
    found: dict[str, None] = {}
    for crd in packaged_crds():
        if crd["spec"]["names"]["kind"] in V1_KINDS:
            schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            found |= dict.fromkeys(schema_fields(schema["properties"]["spec"], "spec"))
    return list(found)


def test_every_field_of_every_kind_is_explained() -> None:
    assert [field for field in all_fields() if not fields.matching(field)] == []


@pytest.mark.parametrize("field", [field for field in fields.guide() if field.example is not None], ids=lambda field: field.field)
def test_an_example_shows_what_becomes_of_its_field(field: fields.Field) -> None:
    shown = fields.example_of(field)
    assert shown is not None
    assert shown.rows or shown.topics
    assert NOT_UNDERSTOOD not in shown.topics


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("spec.runPolicy.suspend", ["spec.runPolicy.suspend"]),
        ("runPolicy.suspend", ["spec.runPolicy.suspend"]),
        ("SUSPEND", ["spec.runPolicy.suspend"]),
        ("cleanPodPolicy", ["spec.runPolicy.cleanPodPolicy", "spec.cleanPodPolicy"]),
        ("spec.pytorchReplicaSpecs.Worker.replicas", ["spec.roles.*.replicas"]),
        ("spec.tfReplicaSpecs.PS.template.spec.containers[0].image", ["spec.roles.*.template.spec.containers.image"]),
        ("spec.tfReplicaSpecs.PS.template.spec.dnsPolicy", ["spec.roles.*.template.spec"]),
        ("spec.pytorchReplicaSpecs.Master.template.spec.volumes[0].name", ["spec.roles.*.template.spec.volumes"]),
        ("status.conditions", ["status"]),
        ("spec.numNodes", []),
        ("", []),
    ],
)
def test_fields_are_found_by_the_paths_that_people_write(asked: str, found: list[str]) -> None:
    assert [field.field for field in fields.matching(asked)] == found


def test_a_part_of_the_spec_is_explained_field_by_field() -> None:
    assert {field.field for field in fields.matching("schedulingPolicy")} == {
        f"spec.runPolicy.schedulingPolicy.{name}"
        for name in ("minAvailable", "queue", "minResources", "priorityClass", "scheduleTimeoutSeconds")
    }
