"""What is wrong with a policy's expressions, and the schemas that this is read from."""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json
from shunter.cluster.policy_types.matches import GroupKind
from shunter.cluster.policy_types.schemas import schema_of
from shunter.cluster.policy_types.types import typed_kind, warnings

THING, OTHER = GroupKind("a.b", "v1", "Thing"), GroupKind("a.b", "v1", "Other")


def kind(name: str, **properties: Json) -> Json:
    gvk = {"group": "a.b", "version": "v1", "kind": name}
    return {"type": "object", "properties": properties, "x-kubernetes-group-version-kind": [gvk]}


SCHEMAS = {
    "thing": kind(
        "Thing",
        spec={"allOf": [{"$ref": "#/components/schemas/spec"}], "description": "D"},
        items={"type": "array", "items": {"$ref": "#/components/schemas/spec"}},
    ),
    "other": kind("Other", spec={"type": "object", "properties": {"size": {"type": "string"}}}),
    "spec": {
        "type": "object",
        "properties": {
            "size": {"type": "integer"},
            "port": {"oneOf": [{"type": "string"}, {"type": "integer"}], "format": "int-or-string"},
            "inner": {"$ref": "#/components/schemas/spec"},
            "whole": {"$ref": "#/components/schemas/thing"},
        },
    },
}


def of(one: GroupKind) -> Any:
    schema = schema_of(SCHEMAS, one)
    assert schema is not None
    return typed_kind(one, schema)


def told(expression: str, *kinds: GroupKind, params: GroupKind | None = None, **spec: Any) -> str:
    policy = {"spec": {"validations": [{"expression": expression}], **spec}}
    found = warnings(policy, [of(one) for one in kinds or (THING,)], of(params) if params else None)
    assert all(one["fieldRef"] == "spec.validations[0].expression" for one in found)
    return "".join(one["warning"] for one in found)


def test_a_field_that_is_not_there_is_told_with_its_line_and_the_kind() -> None:
    fault = "ERROR: <input>:1:12: undefined field 'sise'\n | object.spec.sise == 1\n | ...........^\n"
    assert told("object.spec.sise == 1") == f"a.b/v1, Kind=Thing: {fault}"
    assert told("object.spec.size == 1 && oldObject.items[0].size > 2") == ""


def test_each_kind_is_told_of_by_itself() -> None:
    found = told("object.spec.size == 1", THING, OTHER)
    assert found.startswith("a.b/v1, Kind=Other: ERROR: <input>:1:18: found no matching overload for '_==_'")
    assert told("object.spec.nothing", THING, OTHER).count("\n\na.b/v1, Kind=Other: ") == 1


def test_a_schema_that_holds_itself_ends_there() -> None:
    assert told("object.spec.inner == object.spec") != ""
    assert "undefined field 'size'" in told("object.spec.inner.size == 1")
    assert "undefined field 'spec'" in told("object.spec.whole.spec == 1")


def test_a_number_or_text_is_compared_with_both() -> None:
    assert told("object.spec.port == 1 || object.spec.port == 'a'") == ""


def test_variables_have_the_types_of_what_they_are() -> None:
    variables = [
        {"name": "size", "expression": "object.spec.size"},
        {"name": "spec", "expression": "object.spec"},
        {"name": "wrong", "expression": "object.nothing"},
    ]
    assert "applied to '(int, string)'" in told("variables.size == 'a'", variables=variables)
    assert told("variables.spec.nothing == 1 || variables.wrong == 1", variables=variables) == ""
    assert "undefined field 'other'" in told("variables.other == 1", variables=variables)


def test_parameters_are_of_the_policys_kind_where_it_is_known() -> None:
    kind_named = {"apiVersion": "a.b/v1", "kind": "Other"}
    assert "applied to '(string, int)'" in told("params.spec.size == 1", params=OTHER, paramKind=kind_named)
    assert told("params.spec.size == 1", paramKind=kind_named) == ""
    assert "undeclared reference to 'params'" in told("params.spec.size == 1")


def test_messages_are_checked_too() -> None:
    policy = {"spec": {"validations": [{"expression": "true", "messageExpression": "'at ' + object.nothing"}]}}
    (found,) = warnings(policy, [of(THING)], None)
    assert found["fieldRef"] == "spec.validations[0].messageExpression"


def test_a_kind_without_a_schema_has_none() -> None:
    assert schema_of(SCHEMAS, GroupKind("a.b", "v2", "Thing")) is None
