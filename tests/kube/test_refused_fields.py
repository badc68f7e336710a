"""From the API server's words to keys and indexes, in all the ways in which it writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.kube.errors import Cause, Details, Status
from shunter.kube.refused_fields import Path, RefusedField, path_of, refused_fields

VECTORS = File(__file__).parents[1] / "vectors/answers"

OBJECT: Json = {
    "kind": "Gadget",
    "metadata": {"name": "a", "labels": {"app.kubernetes.io/name": 5, "a]b": "c"}},
    "spec": {
        "replicas": "2",
        "tags": ["c", "d"],
        "roles": {"Master": {"replicas": 1}, "Wor.ker": {"replicas": "x"}},
        "containers": [
            {"name": "main: it", "image": 5, "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]},
            {"name": "side", "env": {}, "ports": []},
        ],
        "a": {"b": 1},
        "a.b": 2,
        7: {"x": 1},
    },
}
WEBHOOK = 'admission webhook "validator.example" denied the request: '
APPLY = "failed to create typed patch object (/a; x.example/v1, Kind=Gadget): "
GO = 'Gadget in version "v1" cannot be handled as a Gadget: json: cannot unmarshal'

TEXTS: dict[str, tuple[str, list[Path | None]]] = {
    "an unknown field": (
        'strict decoding error: unknown field "metadata.name", unknown field "spec.containers[1].env"',
        [("metadata", "name"), ("spec", "containers", 1, "env")],
    ),
    "an unknown field in Go's escapes, which JSON has not": ('strict decoding error: unknown field "spec.\\x01"', [None]),
    "one field of a webhook": (f"{WEBHOOK}spec.replicas: Invalid value: 1: no", [("spec", "replicas")]),
    "several of a webhook, keys in brackets": (
        f"{WEBHOOK}[spec.roles[Master].replicas: Forbidden: must be 1, spec.roles[Wor.ker]: Required value: spec.a: no]",
        [("spec", "roles", "Master", "replicas"), ("spec", "roles", "Wor.ker")],
    ),
    "what stands in a value is none": (
        f'{WEBHOOK}spec.tags: Invalid value: "spec.a: Required value": spec.replicas is it',
        [("spec", "tags")],
    ),
    "nor what stands in an object that is shown": (
        f'{WEBHOOK}spec.tags: Invalid value: {{"a":"\\"spec.a: Required value"}}: no',
        [("spec", "tags")],
    ),
    "no field": (f"{WEBHOOK}<nil>: Invalid value: no, replicas must be less", []),
    "another object, which a webhook made": (f'{WEBHOOK}JobSet.jobset.x-k8s.io "a" is invalid: spec.replicas: Forbidden: no', []),
    "a resource for a kind": ('gadgets.x.example "a" is invalid: spec.replicas: Forbidden: no', [("spec", "replicas")]),
    "an apply": (f"{APPLY}.spec.replicas: expected numeric (int or float), got string", [("spec", "replicas")]),
    "an apply, several": (
        f'{APPLY}errors:\n  .spec.nope: field not declared in schema\n  .spec.containers[name="main: it"].image: expected string',
        [None, ("spec", "containers", 0, "image")],
    ),
    "an apply, an item": (f"{APPLY}.spec.tags: element 1: not supported: lists as elements", [("spec", "tags", 1)]),
    "an apply, an item by its value": (f'{APPLY}.spec.tags[="d"]: expected numeric, got string', [("spec", "tags", 1)]),
    "an apply, an item by a key with a default": (
        f'{APPLY}.spec.containers[name="main: it"].ports[containerPort=80,protocol="UDP"]: expected map, got &{{x}}',
        [None],
    ),
    "an apply, a key with dots": (
        f"{APPLY}.metadata.labels.app.kubernetes.io/name: expected string, got &value.valueUnstructured{{Value:5}}",
        [("metadata", "labels", "app.kubernetes.io/name")],
    ),
    "Go's decoder": (f"{GO} string into Go struct field GadgetSpec.spec.replicas of type int32", [("spec", "replicas")]),
    "Go's decoder, a number": (
        f"{GO} number 1.5 into Go struct field S.spec.containers.image of type int32",
        [("spec", "containers", 0, "image")],
    ),
    "Go's decoder, a value of a map": (
        f"{GO} number into Go struct field ObjectMeta.labels of type string",
        [("metadata", "labels", "app.kubernetes.io/name")],
    ),
    "Go's decoder, through a map": (
        f"{GO} string into Go struct field R.spec.roles.replicas of type int32",
        [("spec", "roles", "Wor.ker", "replicas")],
    ),
    "Go's decoder, two that may be meant": (f"{GO} string into Go struct field C.spec.containers.name of type int32", [None]),
    "Go's decoder, two values of one field": (f"{GO} string into Go struct field C.spec.tags of type int32", [("spec", "tags")]),
    "no refusal of a field": ('pods "a" is forbidden: exceeded quota: q, requested: cpu=1, used: cpu=2, limited: cpu=2', []),
}


@pytest.mark.parametrize(("message", "paths"), TEXTS.values(), ids=TEXTS)
def test_fields_are_found_in_a_message(message: str, paths: list[Path | None]) -> None:
    assert [path_of(field, OBJECT) for field in refused_fields(Status(message=message), "Gadget")] == paths


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("spec.replicas", ("spec", "replicas")),
        (".spec.replicas", ("spec", "replicas")),
        ("spec.containers[1].name", ("spec", "containers", 1, "name")),
        ("spec.containers[2].name", None),
        ("spec.containers.name", None),
        ("spec.roles.Master.replicas", ("spec", "roles", "Master", "replicas")),
        ("spec.roles[Master].replicas", ("spec", "roles", "Master", "replicas")),
        ('spec.roles["Wor.ker"].replicas', ("spec", "roles", "Wor.ker", "replicas")),
        ("spec.roles.Wor.ker.replicas", ("spec", "roles", "Wor.ker", "replicas")),
        ("metadata.labels[a]b]", ("metadata", "labels", "a]b")),
        ("spec.7.x", ("spec", "7", "x")),
        ("spec.a.b", None),
        ("spec.rep", None),
        ("patch", None),
    ],
)
def test_a_path_is_followed_through_the_object(name: str, path: Path | None) -> None:
    cause = Cause("FieldValueInvalid", "no", name)
    (field,) = refused_fields(Status(message="no", details=Details(causes=(cause,))), "Gadget")
    assert path_of(field, OBJECT) == path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("spec.containers[1].image", ("spec", "containers", 1)),
        ("spec.roles[Master].template.spec", ("spec", "roles", "Master")),
        ("status", ()),
        ("spec.a.b.c", None),
    ],
)
def test_a_field_that_is_required_is_followed_as_far_as_it_is_there(name: str, path: Path | None) -> None:
    assert path_of(RefusedField(name, "required"), OBJECT) == path


def test_a_field_is_named_once_and_one_without_a_name_not_at_all() -> None:
    causes = tuple(Cause("FieldValueRequired", "", name) for name in ("<nil>", "spec.a", "", "spec.a"))
    assert refused_fields(Status(message="no", details=Details(causes=causes)), "Gadget") == [RefusedField("spec.a", "required")]


def test_no_message_that_was_recorded_is_a_stumbling_block() -> None:
    messages = list(recorded(*(json.loads(file.read_bytes()) for file in sorted(VECTORS.glob("*.json")))))
    assert len(messages) > 1000
    found = [field for message, kind in messages for field in refused_fields(Status(message=message), kind)]
    assert {field.fault for field in found} == {"unknown", "required", "other"}
    for field in found:
        path_of(field, OBJECT)


def recorded(*answers: Any) -> Iterator[tuple[str, str]]:
    """The messages of all refusals in recorded answers, and the kind that each names."""
    for answer in answers:
        if isinstance(answer, dict):
            if answer.get("kind") == "Status" and isinstance(answer.get("message"), str):
                kind = re.search(r"Kind=(\w+)|as an? (\w+):|^(\w+)\S* \"", answer["message"])
                yield answer["message"], next(filter(None, kind.groups()), "") if kind else ""
            yield from recorded(*answer.values())
        elif isinstance(answer, list):
            yield from recorded(*answer)
