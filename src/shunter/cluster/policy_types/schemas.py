"""A kind's schema in one piece, of the document in which a server publishes it. Source: k8s.io/apiserver 1.36 `cel/openapi`."""

from __future__ import annotations

from collections.abc import Mapping

from shunter.api.meta import Json
from shunter.cluster.policy_types.matches import GroupKind

_PREFIX = "#/components/schemas/"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_CIRCLE: Json = {"type": "object"}


def schema_of(schemas: Mapping[str, Json], kind: GroupKind) -> Json | None:
    """The schema of a kind with all others that it refers to in their places, where it refers to itself an object without fields;
    None where there is none."""
    wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    for name, schema in schemas.items():
        if wanted in schema.get("x-kubernetes-group-version-kind", ()):
            return _in_one_piece(schema, schemas, (name,))
    return None


def _in_one_piece(schema: Json, schemas: Mapping[str, Json], within: tuple[str, ...]) -> Json:
    if name := _reference(schema):
        if name in within:
            return _CIRCLE
        schema, within = schemas[name], (*within, name)
    whole = dict(schema)
    if schema.get("format") == "int-or-string":
        whole[_INT_OR_STRING] = True
    if properties := schema.get("properties"):
        whole["properties"] = {field: _in_one_piece(inner, schemas, within) for field, inner in properties.items()}
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            whole[part] = _in_one_piece(schema[part], schemas, within)
    return whole


def _reference(schema: Json) -> str:
    """What it refers to, alone or within `allOf`, which keeps the description of a field beside it."""
    for one in (schema, *(schema.get("allOf") or ())):
        if "$ref" in one:
            return str(one["$ref"]).removeprefix(_PREFIX)
    return ""
