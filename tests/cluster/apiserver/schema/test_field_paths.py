"""Which paths rules may say their faults are at."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver.schema.field_paths import is_field_path

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "a": {"type": "object", "properties": {"b-c": {"type": "integer"}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "integer"}}}},
    },
}


@pytest.mark.parametrize("path", [".a", ".a.b-c", "['a']['b-c']", ".labels.x", ".labels['x.y']", r".labels['it\'s']", ".items"])
def test_declared_fields_may_be_named(path: str) -> None:
    assert is_field_path(path, SCHEMA)


@pytest.mark.parametrize(
    "path", ["a", ".", "..a", ".a.", ".b", ".items[0]", ".items.b", ".a['b-c'", r".labels['\x']", ".labels.x.y"]
)
def test_others_may_not(path: str) -> None:
    assert not is_field_path(path, SCHEMA)
