"""The fields of pods that came after Training Operator v1.9, held to the schemas that Kubernetes published."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.newer_fields import SINCE, newer_fields
from shunter.migrate.paths import Path as FieldPath

SCHEMAS = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
OF_V1, OF_V2 = "1.31", "1.36"
OTHER_CONTAINERS = "ephemeralContainers"
"""No template may have them."""


@cache
def fields_of_pods(release: str) -> set[FieldPath]:
    definitions = json.loads((SCHEMAS / f"v{release}.0-local" / "_definitions.json").read_bytes())["$defs"]
    found: set[FieldPath] = set()
    add_fields(definitions, "io.k8s.api.core.v1.PodSpec", (), found)
    return found


def add_fields(definitions: Json, name: str, path: FieldPath, found: set[FieldPath]) -> None:
    for field, schema in (definitions[name].get("properties") or {}).items():
        if field == OTHER_CONTAINERS:
            continue
        found.add((*path, field))
        items = schema.get("items") or {}
        if reference := schema.get("$ref"):
            add_fields(definitions, reference.rpartition("/")[2], (*path, field), found)
        elif reference := items.get("$ref"):
            add_fields(definitions, reference.rpartition("/")[2], (*path, field, "*"), found)


def test_the_fields_are_those_that_pods_got_after_the_release_that_v1_is_built_with() -> None:
    newer = fields_of_pods(OF_V2) - fields_of_pods(OF_V1)
    first = {path for path in newer if not any(path[:length] in newer for length in range(1, len(path)))}
    assert first == {*SINCE}


def test_a_field_is_as_old_as_the_first_release_that_has_it() -> None:
    for path, since in SINCE.items():
        major, _, minor = since.partition(".")
        assert path in fields_of_pods(since)
        assert path not in fields_of_pods(f"{major}.{int(minor) - 1}")


def test_what_has_other_types_than_v1_allows_has_no_newer_fields() -> None:
    assert [*newer_fields(None)] == []
    assert [*newer_fields({"containers": "none", "volumes": {"a": 1}, "resources": None})] == []


def test_an_empty_list_or_object_says_nothing() -> None:
    assert [*newer_fields({"resources": {}, "schedulingGroup": None, "containers": [{"restartPolicyRules": []}]})] == []


@pytest.mark.parametrize("value", [{"limits": {}}, ""])
def test_other_values_say_something(value: Any) -> None:
    assert [*newer_fields({"resources": value})] == [(("resources",), "1.32")]
