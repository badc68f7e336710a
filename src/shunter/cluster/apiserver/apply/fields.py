"""The structure of a kind for field ownership: which maps and lists are merged field by field, and which are replaced as a whole.

Compiled once per kind from its OpenAPI schema; every walk over objects then only follows pointers. The rules are those of
kube-openapi's conversion to structured-merge-diff types: maps are granular and lists atomic unless the schema says otherwise.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from shunter.api.formats.go_values import go_quoted
from shunter.api.meta import Json
from shunter.cluster.apiserver.apply.field_set import item_by_key, item_by_name, item_by_value

Scalar = Literal["string", "number", "boolean", "any"]

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_OBJECT_META_SCHEMA: Json = {
    "type": "object",
    "properties": {
        **{
            name: {"type": "string"}
            for name in ("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "creationTimestamp")
        },
        "deletionTimestamp": {"type": "string", "format": "date-time"},
        "deletionGracePeriodSeconds": {"type": "integer"},
        "generation": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "managedFields": {"type": "array", "items": {"type": "object"}},
        "ownerReferences": {
            "type": "array",
            "items": {
                "type": "object",
                "x-kubernetes-map-type": "atomic",
                "properties": {
                    "apiVersion": {"type": "string"},
                    "kind": {"type": "string"},
                    "name": {"type": "string"},
                    "uid": {"type": "string"},
                    "controller": {"type": "boolean"},
                    "blockOwnerDeletion": {"type": "boolean"},
                },
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
        },
    },
}
_SCALARS: dict[str, Scalar] = {"integer": "number", "number": "number", "boolean": "boolean", "string": "string"}
_ZEROS: Json = {"string": "", "boolean": False, "integer": 0, "number": 0}
_KEY_DEFAULTS = {"protocol": "TCP"}
"""Defaults of list-map keys in Kubernetes' own types (ContainerPort, ServicePort), for schemas published without defaults."""


class UnkeyedItemError(ValueError):
    """A list item that cannot be told apart from others, in structured-merge-diff's words."""


class FieldTree:
    """One type. A value may be a scalar, a list or a map; several at once where the schema leaves the type open."""

    __slots__ = ("additional", "fields", "is_granular", "is_map", "item", "key_defaults", "keys", "list_type", "scalar", "zeros")

    scalar: Scalar | None
    is_map: bool
    is_granular: bool
    """Maps only: fields are owned one by one, in contrast to the map as a whole."""
    fields: dict[str, FieldTree]
    additional: FieldTree | None
    """The type of fields that are not in `fields`; None where there may be no such fields."""
    zeros: Json
    """Fields never absent in Kubernetes' own objects, with their empty value: Go structs held by value, required fields."""
    list_type: Literal["map", "set", "atomic"] | None
    item: FieldTree
    keys: tuple[str, ...]
    key_defaults: Json

    def __init__(self) -> None:
        self.scalar = None
        self.is_map = self.is_granular = False
        self.fields = {}
        self.additional = None
        self.zeros = {}
        self.list_type = None
        self.keys = ()
        self.key_defaults = {}

    def child(self, name: str) -> FieldTree:
        """The type of a field; fields that the schema does not know have the type that their value shows."""
        return self.fields.get(name) or self.additional or DEDUCED

    def element(self, item: Any) -> str:
        """The path element of a list item. Raises UnkeyedItemError."""
        if self.list_type == "map":
            if len(self.keys) == 1 and isinstance(item, dict) and type(value := item.get(self.keys[0])) is str:
                return item_by_name(self.keys[0], value)
            return item_by_key(self._key(item))
        if isinstance(item, dict):
            raise UnkeyedItemError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise UnkeyedItemError("not supported: associative list with lists as elements")
        if item is None:
            raise UnkeyedItemError("associative list without keys has an element that's an explicit null")
        return item_by_value(item)

    def _key(self, item: Any) -> Json:
        if item is None:
            raise UnkeyedItemError("associative list with keys may not have a null element")
        if not isinstance(item, dict):
            raise UnkeyedItemError("associative list with keys may not have non-map elements")
        key = {}
        for name in self.keys:
            value = item.get(name, self.key_defaults.get(name))
            if value is not None or name in item:
                key[name] = value
        if not key:
            names = " ".join(map(go_quoted, self.keys))
            raise UnkeyedItemError(
                f"associative list with keys has an element that omits all key fields [{names}]"
                " (and doesn't have default values for any key fields)"
            )
        return key


def _untyped(*, granular: bool) -> FieldTree:
    tree = FieldTree()
    tree.scalar = "any"
    tree.is_map, tree.is_granular = True, granular
    tree.additional = tree
    tree.list_type = "atomic"
    tree.item = tree
    return tree


DEDUCED = _untyped(granular=True)
"""No schema: maps are granular, lists atomic."""
ATOMIC = _untyped(granular=False)
"""Any value, owned as a whole."""


def compile_fields(openapi: Json, definitions: Mapping[str, Json]) -> FieldTree:
    """The tree of the kind that `openapi` describes.

    `definitions` holds by name the schemas that `$ref`s end in. Recursive types come out as cycles. apiVersion, kind and
    metadata, which every object has, are included even when the schema of a custom kind omits them.
    """
    compiler = _Compiler(definitions)
    name = _definition_name(openapi)
    tree = compiler.of_name(name, None) if name in definitions else compiler.of_reference(openapi)
    if tree is DEDUCED:
        tree = FieldTree()
        tree.is_map = tree.is_granular = True
        tree.additional = DEDUCED
    compiler.fill_object(tree)
    return tree


class _Compiler:
    def __init__(self, definitions: Mapping[str, Json]) -> None:
        self.definitions = definitions
        self.named: dict[tuple[str, str | None], FieldTree] = {}

    def fill_object(self, tree: FieldTree) -> None:
        """Adds apiVersion, kind and metadata."""
        for name in ("apiVersion", "kind"):
            tree.fields[name] = self.of_schema({"type": "string"}, preserve=False)
        if _OBJECT_META in self.definitions:
            tree.fields["metadata"] = self.of_name(_OBJECT_META, None)
        else:
            tree.fields["metadata"] = self.of_schema(_OBJECT_META_SCHEMA, preserve=False)

    def of_reference(self, schema: Json, *, preserve: bool = False) -> FieldTree:
        """The type of a property, an item, or a root: a `$ref`, alone or as the one entry of `allOf`, or an inline schema."""
        reference = schema.get("$ref")
        if reference is None and len(parts := schema.get("allOf", ())) == 1:
            reference = parts[0].get("$ref")
        if reference is None:
            return self.of_schema(schema, preserve=preserve)
        return self.of_name(reference.rpartition("/")[2], schema.get("x-kubernetes-map-type"))

    def of_name(self, name: str, map_type: str | None) -> FieldTree:
        tree = self.named.get((name, map_type))
        if tree is None:
            if name.endswith(".RawExtension"):
                tree = ATOMIC
            elif name.endswith(".Quantity"):
                tree = FieldTree()
                tree.scalar = "any"
            else:
                tree = FieldTree()
                self.named[name, map_type] = tree
                schema = self.definitions[name]
                self.fill(tree, {**schema, "x-kubernetes-map-type": map_type} if map_type else schema, preserve=False)
                self.fill_zeros(tree, schema, _structs_by_value().get(name, ()))
            self.named[name, map_type] = tree
        return tree

    def of_schema(self, schema: Json, *, preserve: bool) -> FieldTree:
        if not (schema.keys() - {"description", "nullable", "default", "title"}):
            return DEDUCED
        tree = FieldTree()
        self.fill(tree, schema, preserve=preserve)
        return tree

    def fill(self, tree: FieldTree, schema: Json, *, preserve: bool) -> None:
        preserve = preserve or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        kind = _type_of(schema)
        if kind in _SCALARS:
            tree.scalar = "any" if kind == "string" and schema.get("format", "byte") != "byte" else _SCALARS[kind]
        if kind == "":
            tree.scalar = "any"
        if kind in ("", "object"):
            self.fill_map(tree, schema, preserve=preserve)
        if kind in ("", "array"):
            self.fill_list(tree, schema, preserve=preserve)

    def fill_map(self, tree: FieldTree, schema: Json, *, preserve: bool) -> None:
        tree.is_map = True
        tree.is_granular = schema.get("x-kubernetes-map-type") != "atomic"
        properties = schema.get("properties", {})
        embedded = schema.get("x-kubernetes-embedded-resource", False)
        for name, part in properties.items():
            tree.fields[name] = self.of_reference(part, preserve=preserve)
        if embedded:
            self.fill_object(tree)
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict):
            tree.additional = self.of_reference(additional, preserve=preserve)
        elif additional or (additional is None and (preserve or not properties)):
            tree.additional = DEDUCED

    def fill_list(self, tree: FieldTree, schema: Json, *, preserve: bool) -> None:
        items = schema.get("items")
        tree.item = self.of_reference(items, preserve=preserve) if items else ATOMIC
        tree.list_type, tree.keys = _list_type(schema)
        for name in tree.keys:
            default = self.property_default(items or {}, name)
            if default is not None:
                tree.key_defaults[name] = default

    def property_default(self, items: Json, name: str) -> Any:
        schema = items
        while reference := schema.get("$ref") or next((part.get("$ref") for part in schema.get("allOf", ())), None):
            schema = self.definitions[reference.rpartition("/")[2]]
        part = schema.get("properties", {}).get(name, {})
        if "$ref" in items or "allOf" in items:
            # Kubernetes' own types: what is required is never absent, as Go always writes it.
            zero = _ZEROS.get(_type_of(part)) if name in schema.get("required", ()) else None
            return part.get("default", _KEY_DEFAULTS.get(name, zero))
        return part.get("default")

    def fill_zeros(self, tree: FieldTree, schema: Json, by_value: Collection[str]) -> None:
        """Sets the empty values of absent fields, only for Kubernetes' own types: in custom objects an absent field is absent."""
        required = schema.get("required", ())
        for name, part in schema.get("properties", {}).items():
            if part.get("default") == {} or name in by_value:
                tree.zeros[name] = {}
            elif name in required:
                tree.zeros[name] = _ZEROS.get(_type_of(part))


def _type_of(schema: Json) -> str:
    """The one type of a schema, `null` left out; empty where any type goes."""
    kind = schema.get("type", "")
    if isinstance(kind, list):
        kinds = [name for name in kind if name != "null"]
        return kinds[0] if len(kinds) == 1 else ""
    return str(kind)


def _list_type(schema: Json) -> tuple[Literal["map", "set", "atomic"], tuple[str, ...]]:
    match schema.get("x-kubernetes-list-type"):
        case "map":
            return "map", tuple(schema["x-kubernetes-list-map-keys"])
        case "set":
            return "set", ()
        case None if "merge" in schema.get("x-kubernetes-patch-strategy", "").split(","):
            key = schema.get("x-kubernetes-patch-merge-key")
            return ("map", (key,)) if key else ("set", ())
    return "atomic", ()


def _definition_name(openapi: Json) -> str:
    """The definition of a built-in kind whose schema was handed over without its name; empty for all others."""
    for kind in openapi.get("x-kubernetes-group-version-kind", ()):
        suffix = f".{kind['group'].partition('.')[0] or 'core'}.{kind['version']}.{kind['kind']}"
        for name in _structs_by_value():
            if name.endswith(suffix):
                return name
    return ""


@cache
def _structs_by_value() -> dict[str, list[str]]:
    """Definition name -> its fields that hold a struct by value. Written by scripts/go_types.py."""
    packed = Path(__file__).parent.parent.joinpath("data/structs-by-value.json.gz").read_bytes()
    fields: dict[str, list[str]] = json.loads(gzip.decompress(packed))
    return fields
