"""Validates the schema of a CustomResourceDefinition: it must be structural, with valid lists, defaults and rules.

Source: apiextensions-apiserver 1.36 `apis/apiextensions/validation`, `apiserver/schema/validation.go`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import NamedTuple

from shunter.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from shunter.api.meta import Json
from shunter.cluster.apiserver.schema import prune
from shunter.cluster.apiserver.schema.field_paths import is_field_path
from shunter.cluster.apiserver.schema.formats import go_fault, go_pattern
from shunter.cluster.apiserver.schema.node import Node, Source
from shunter.cluster.apiserver.schema.rule_limits import cost_errors, total_errors
from shunter.cluster.apiserver.schema.rules import default_errors
from shunter.cluster.apiserver.schema.typecheck.rules import compiled_rule
from shunter.cluster.apiserver.schema.typecheck.schemas import LARGEST_REQUEST, declared
from shunter.cluster.apiserver.schema.validate import schema_errors

_TYPES = ["array", "boolean", "integer", "number", "object", "string"]
_UNSUPPORTED = (
    ("id", "id is not supported"),
    ("additionalItems", "additionalItems is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("$ref", "$ref is not supported"),
)
_NOT_IN_ALTERNATIVES = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_REASONS = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"]
_META_FIELDS = ("apiVersion", "kind", "metadata")
_UNTYPED = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


class _Place(NamedTuple):
    """The position of a node in the schema of a kind."""

    field: str
    level: str
    """`root`, `items` or `fields`, as error messages call it."""
    no_default: str = ""
    """Why defaults are forbidden here, if they are."""
    most: int | None = 1
    """How many values there may be in an object; None where the schema sets no limit."""
    uncorrelated: str = ""
    """The enclosing list whose items cannot be correlated with their old values, if there is one."""


def structure_errors(schema: Json, field: str) -> list[FieldError]:
    """The faults of a version's schema. Rules are compiled only when everything else is right."""
    errors: list[FieldError] = []
    if schema.get("nullable"):
        errors.append(forbidden(f"{field}.nullable", "nullable cannot be true at the root"))
    nodes = list(_nodes(schema, _Place(field, "root")))
    if not any(node.get(keyword) for node, _ in nodes for keyword, _ in _UNSUPPORTED):
        errors += [error for node, place in nodes for error in _structural_errors(node, place)]
    for node, place in nodes:
        errors += _keyword_errors(node, place)
        errors += _list_errors(node, place.field)
        errors += _rule_form_errors(node, place.field)
    if not errors:
        errors += [error for node, place in nodes for error in _default_errors(node, place)]
    if not errors:
        costs: list[tuple[str, int]] = []
        errors += [error for node, place in nodes for error in _rule_errors(node, place, costs)]
        errors += total_errors(costs, field)
    if not errors:
        errors += [error for node, place in nodes for error in _refused_defaults(node, place)]
    return errors


def _nodes(schema: Json, place: _Place) -> Iterator[tuple[Json, _Place]]:
    """The nodes of the structural spine, outermost first."""
    yield schema, place
    field, most = place.field, _most_below(schema, place)
    for name, child in (schema.get("properties") or {}).items():
        no_default = f"in top-level {name}" if place.level == "root" and name in _META_FIELDS else place.no_default
        yield from _nodes(child, _Place(f"{field}.properties[{name}]", "fields", no_default, most, place.uncorrelated))
    if isinstance(child := schema.get("additionalProperties"), dict):
        yield from _nodes(child, place._replace(field=f"{field}.additionalProperties", level="fields", most=most))
    if isinstance(child := schema.get("items"), dict):
        keyed = schema.get("x-kubernetes-list-type") == "map"
        uncorrelated = place.uncorrelated or ("" if keyed else field)
        yield from _nodes(child, _Place(f"{field}.items", "items", place.no_default, most, uncorrelated))


def _most_below(schema: Json, place: _Place) -> int | None:
    """How many values of each field or item there may be in an object."""
    factor: int | None = 1
    if schema.get("type") == "array":
        factor = schema.get("maxItems")
    elif schema.get("type") == "object" and schema.get("additionalProperties") is not None:
        factor = schema.get("maxProperties")
    return None if place.most is None or factor is None else place.most * max(factor, 0)


def _structural_errors(schema: Json, place: _Place) -> list[FieldError]:
    """The errors that keep a schema from being structural. Not checked for schemas with keywords that cannot even be read."""
    return _type_errors(schema, place) + _alternative_errors(schema, place.field)


def _keyword_errors(schema: Json, place: _Place) -> list[FieldError]:
    field = place.field
    errors = [forbidden(f"{field}.{keyword}", text) for keyword, text in _UNSUPPORTED if schema.get(keyword)]
    if "default" in schema and place.no_default:
        errors.append(forbidden(f"{field}.default", f"must not be set {place.no_default}"))
    if isinstance(schema.get("items"), list):
        errors.append(forbidden(f"{field}.items", "items must be a schema object and not an array"))
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(forbidden(f"{field}.uniqueItems", detail))
    further = schema.get("additionalProperties")
    if schema.get("properties") and (further is False or isinstance(further, dict)):
        detail = "additionalProperties and properties are mutual exclusive"
        errors.append(forbidden(f"{field}.additionalProperties", detail))
    if further is not None and place.level == "root":
        errors.append(forbidden(f"{field}.additionalProperties", "must not be used at the root"))
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        errors.append(invalid(f"{field}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"))
    if schema.get("x-kubernetes-int-or-string"):
        errors += [
            invalid(f"{field}.{keyword}", True, "must be false if x-kubernetes-int-or-string is true")
            for keyword in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
            if schema.get(keyword)
        ]
    map_type = schema.get("x-kubernetes-map-type")
    if map_type not in (None, "atomic", "granular"):
        errors.append(not_supported(f"{field}.x-kubernetes-map-type", map_type, ["atomic", "granular"]))
    if place.level == "root" and (metadata := (schema.get("properties") or {}).get("metadata")) is not None:
        errors += _metadata_errors(metadata, f"{field}.properties[metadata]")
    return errors


def _metadata_errors(metadata: Json, field: str) -> list[FieldError]:
    errors = []
    if metadata.get("type") != "object":
        errors.append(invalid(f"{field}.type", metadata.get("type", ""), "must be object"))
    allowed = metadata.keys() <= {"type", "description", "properties"}
    if not allowed or not (metadata.get("properties") or {}).keys() <= {"name", "generateName"}:
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        errors.append(forbidden(field, detail))
    return errors


def _type_errors(schema: Json, place: _Place) -> list[FieldError]:
    field, kind = f"{place.field}.type", schema.get("type", "")
    errors: list[FieldError] = []
    if kind == "null":
        errors.append(forbidden(field, "type cannot be set to null, use nullable as an alternative"))
    if kind and kind not in _TYPES:
        errors.append(not_supported(field, kind, _TYPES))
    embedded = schema.get("x-kubernetes-embedded-resource")
    if embedded and kind != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(invalid(field, kind, text) if kind else required(field, text))
    elif not kind and not (schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")):
        what = {"root": "at the root", "items": "for specified array items", "fields": "for specified object fields"}
        errors.append(required(field, f"must not be empty {what[place.level]}"))
    if embedded and not schema.get("properties") and not schema.get("x-kubernetes-preserve-unknown-fields"):
        detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        errors.append(required(f"{place.field}.properties", detail))
    if place.level == "root" and kind and kind != "object":
        errors.append(invalid(field, kind, "must be object at the root"))
    for keyword, expected in (("x-kubernetes-map-type", "object"), ("x-kubernetes-list-type", "array")):
        if keyword in schema and kind != expected:
            text = f"must be {expected} if {keyword} is specified"
            errors.append(invalid(field, kind, text) if kind else required(field, text))
    if kind == "array" and schema.get("items") is None:
        errors.append(required(f"{place.field}.items", "must be specified"))
    return errors


def _list_errors(schema: Json, field: str) -> list[FieldError]:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or []
    item = schema.get("items")
    item = item if isinstance(item, dict) else {}
    errors: list[FieldError] = []
    if kind not in (None, "atomic", "set", "map"):
        errors.append(not_supported(f"{field}.x-kubernetes-list-type", kind, ["atomic", "set", "map"]))
    if keys and kind != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        where = f"{field}.x-kubernetes-list-type"
        errors.append(required(where, text) if kind is None else invalid(where, kind, text))
    if kind in ("set", "map") and item.get("nullable"):
        errors.append(forbidden(f"{field}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {kind}"))
    if kind == "set" and item.get("type") == "object" and item.get("x-kubernetes-map-type") != "atomic":
        text = "must be atomic as item of a list with x-kubernetes-list-type=set"
        errors.append(invalid(f"{field}.items.x-kubernetes-map-type", item.get("x-kubernetes-list-type"), text))
    return errors + (_list_map_errors(item, keys, field) if kind == "map" else [])


def _list_map_errors(item: Json, keys: list[str], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not keys:
        text = "must not be empty if x-kubernetes-list-type is map"
        errors.append(required(f"{field}.x-kubernetes-list-map-keys", text))
    if item.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        return [*errors, invalid(f"{field}.items.type", item.get("type", ""), text)]
    properties = item.get("properties") or {}
    if any(key not in properties for key in keys):
        text = "entries must all be names of item properties"
        errors.append(invalid(f"{field}.x-kubernetes-list-map-keys", keys, text))
    if len(set(keys)) < len(keys):
        errors.append(invalid(f"{field}.x-kubernetes-list-map-keys", keys, "must not contain duplicate entries"))
    for key in dict.fromkeys(keys):
        schema, where = properties.get(key), f"{field}.items.properties[{key}]"
        if schema is None:
            continue
        if schema.get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(invalid(f"{where}.type", item["type"], text))
        if key not in item.get("required", ()) and "default" not in schema:
            text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            errors.append(required(f"{where}.default", text))
        if schema.get("nullable"):
            text = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            errors.append(forbidden(f"{where}.nullable", text))
    return errors


def _alternative_errors(schema: Json, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for keyword in ("anyOf", "allOf", "oneOf"):
        if keyword == "anyOf" and schema.get("anyOf") == _INT_OR_STRING:
            continue
        for index, member in enumerate(schema.get(keyword, ())):
            errors += _nested_errors(member, f"{field}.{keyword}[{index}]")
    if "not" in schema:
        errors += _nested_errors(schema["not"], f"{field}.not")
    if pattern := schema.get("pattern"):
        try:
            go_pattern(pattern)
        except re.error as error:
            text = f"must be a valid regular expression, but isn't: error parsing regexp: {go_fault(error, pattern)}"
            errors.append(invalid(f"{field}.pattern", pattern, text))
    return errors


def _nested_errors(schema: Json, field: str) -> list[FieldError]:
    errors = [forbidden(f"{field}.{keyword}", text) for keyword, text in _NOT_IN_ALTERNATIVES if schema.get(keyword)]
    for name, child in (schema.get("properties") or {}).items():
        errors += _nested_errors(child, f"{field}.properties[{name}]")
        if name == "metadata":
            errors.append(forbidden(f"{field}.properties[metadata]", "must not be specified in a nested context"))
    if isinstance(child := schema.get("items"), dict):
        errors += _nested_errors(child, f"{field}.items")
    return errors + _alternative_errors(schema, field)


def _default_errors(schema: Json, place: _Place) -> list[FieldError]:
    if "default" not in schema or place.no_default:
        return []
    value, field = copy.deepcopy(schema["default"]), f"{place.field}.default"
    node = Node(schema, Source({}))
    if isinstance(value, dict) and prune.prune(node, value):
        return [invalid(field, schema["default"], "must not have unknown fields")]
    return schema_errors(node, schema["default"], prefix=field)


def _refused_defaults(schema: Json, place: _Place) -> list[FieldError]:
    """Defaults that the rules refuse."""
    if schema.get("default") is None or place.no_default:
        return []
    return default_errors(Node(schema, Source({})), schema["default"], f"{place.field}.default")


def _rule_form_errors(schema: Json, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, rule in enumerate(schema.get("x-kubernetes-validations", ())):
        here = f"{field}.x-kubernetes-validations[{index}]"
        text, message = rule.get("rule", ""), rule.get("message", "")
        if not text.strip():
            errors.append(required(f"{here}.rule", "rule is not specified"))
        elif message and not message.strip():
            errors.append(invalid(f"{here}.message", message, "must be non-empty if specified"))
        elif "\n" in message.strip():
            errors.append(invalid(f"{here}.message", message, "must not contain line breaks"))
        elif "\n" in text.strip() and not message:
            errors.append(required(f"{here}.message", "message must be specified if rule contains line breaks"))
        if rule.get("messageExpression") and not rule["messageExpression"].strip():
            detail = "messageExpression must be non-empty if specified"
            errors.append(required(f"{here}.messageExpression", detail))
        if rule.get("reason") not in (None, *_REASONS):
            errors.append(not_supported(f"{here}.reason", rule["reason"], _REASONS))
        if path := rule.get("fieldPath"):
            if not path.strip():
                errors.append(invalid(f"{here}.fieldPath", path, "must be non-empty if specified"))
            if "\n" in path:
                errors.append(invalid(f"{here}.fieldPath", path, "must not contain line breaks"))
            if not is_field_path(path, schema):
                errors.append(invalid(f"{here}.fieldPath", path, "must be a valid path"))
    return errors


def _rule_errors(schema: Json, place: _Place, costs: list[tuple[str, int]]) -> list[FieldError]:
    """Compilation errors of the rules of a node. What the rules may cost is added to `costs`."""
    rules = schema.get("x-kubernetes-validations", ())
    if not rules:
        return []
    self_type = declared(schema, is_resource=place.level == "root" or bool(schema.get("x-kubernetes-embedded-resource")))
    if self_type is None:
        return [FieldError("InternalError", f"{place.field}.x-kubernetes-validations", f"Internal error: {_UNTYPED}")]
    errors: list[FieldError] = []
    for index, rule in enumerate(rules):
        here = f"{place.field}.x-kubernetes-validations[{index}]"
        compiled = compiled_rule(rule, self_type)
        times = place.most if place.most is not None else LARGEST_REQUEST // (self_type.smallest + 1)
        for keyword, cost in (("rule", compiled.cost * times), ("messageExpression", compiled.message_cost)):
            errors += cost_errors(f"{here}.{keyword}", f"estimated {keyword} cost", cost)
            costs.append((f"{here}.{keyword}", cost))
        if compiled.fault:
            errors.append(invalid(f"{here}.rule", rule, compiled.fault))
        if compiled.message_fault:
            errors.append(invalid(f"{here}.messageExpression", rule, compiled.message_fault))
        if compiled.uses_old_self and place.uncorrelated:
            text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
            errors.append(invalid(f"{here}.rule", rule["rule"], text))
        elif not compiled.uses_old_self and "optionalOldSelf" in rule:
            text = "may not be set if oldSelf is not used in rule"
            errors.append(invalid(f"{here}.optionalOldSelf", rule["optionalOldSelf"], text))
    return errors
