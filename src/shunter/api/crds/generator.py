"""CustomResourceDefinitions from types: walks msgspec Structs and their markers, and inlines schemas of built-in types.

What comes out is structural: every part has a type, references are resolved, and built-in types look as controller-gen makes
them look (quantities as int-or-string, template metadata cut to five fields, no enums), so that our CRDs equal upstream's.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Union

import msgspec

from shunter.api.crds.custom_kinds import CustomKind
from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.openapi import DEFINITION, IS_REQUIRED, SHAPE

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_INT_OR_STRING: Json = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_TEXT_MAP: Json = {"type": "object", "additionalProperties": {"type": "string"}}

_REPLACED: dict[str, Json] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {**_INT_OR_STRING, "pattern": _QUANTITY_PATTERN},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    _META + "ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": _TEXT_MAP,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": _TEXT_MAP,
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    },
}
"""Built-in types that a CRD writes another way than the API server's own document."""

_CONDITION_LIMITS: dict[str, Json] = {
    "message": {"maxLength": 32768},
    "observedGeneration": {"minimum": 0},
    "reason": {"maxLength": 1024, "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
    "status": {"enum": ["True", "False", "Unknown"]},
    "type": {
        "maxLength": 316,
        "pattern": (
            r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        ),
    },
}
"""What apimachinery's markers on metav1.Condition add in every CRD; the API server's own document has none of it."""

_NAME_HOLDERS = frozenset(
    f"io.k8s.api.core.v1.{name}"
    for name in ("ConfigMapEnvSource", "ConfigMapProjection", "ConfigMapVolumeSource", "SecretEnvSource", "SecretProjection")
)
"""Types that embed a LocalObjectReference; controller-gen hands its map type (atomic) on to them."""

_NOT_IN_CRDS = frozenset(
    {
        "enum",
        "x-kubernetes-group-version-kind",
        "x-kubernetes-patch-merge-key",
        "x-kubernetes-patch-strategy",
        "x-kubernetes-unions",
    }
)
_SCALARS: dict[Any, Json] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    datetime: {"type": "string", "format": "date-time"},
}
_LONGEST_DESCRIPTION = 150


def crd_of(kind: CustomKind, definitions: Mapping[str, Json]) -> Json:
    """The CRD of one kind. `definitions` are Kubernetes' own schemas by name; raises KeyError when one is missing."""
    resource = kind.resource
    schema = _Generator(definitions).object_schema(kind)
    version: Json = {"name": resource.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    subresources: Json = {"status": {}} if kind.has_status else {}
    if kind.scale:
        subresources["scale"] = {
            "specReplicasPath": kind.scale.spec_replicas,
            "statusReplicasPath": kind.scale.status_replicas,
            "labelSelectorPath": kind.scale.label_selector,
        }
    if subresources:
        version["subresources"] = subresources
    if kind.columns:
        version["additionalPrinterColumns"] = [
            {"name": column.name, "type": column.type, "jsonPath": column.json_path}
            | ({"description": column.description} if column.description else {})
            for column in kind.columns
        ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.full_name},
        "spec": {
            "group": resource.group,
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
            },
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }


class _Generator:
    def __init__(self, definitions: Mapping[str, Json]) -> None:
        self._definitions = definitions

    def object_schema(self, kind: CustomKind) -> Json:
        """The schema of a whole object: apiVersion, kind and metadata beside the struct's own fields."""
        schema = self._struct_schema(kind.type)
        schema["properties"] = {
            "apiVersion": {"type": "string", "description": "Version of the schema, e.g. " + kind.resource.api_version + "."},
            "kind": {"type": "string", "description": "The kind: " + kind.resource.kind + "."},
            **schema["properties"],
        }
        if kind.rules and kind.rules.extra_json_schema:
            schema |= kind.rules.extra_json_schema
        summary = (kind.type.__doc__ or "").strip().partition("\n")[0]
        return {"description": summary, **schema}

    def _struct_schema(self, struct: type[Struct]) -> Json:
        hints = typing.get_type_hints(struct, include_extras=True)
        properties: Json = {}
        required: list[str] = []
        for field in msgspec.structs.fields(struct):
            schema = self._schema(hints[field.name])
            if schema.pop(IS_REQUIRED, False):
                required.append(field.encode_name)
            properties[field.encode_name] = schema
        out: Json = {"type": "object"}
        if properties:
            out["properties"] = properties
        if required:
            out["required"] = sorted(required)
        return out

    def _schema(self, hint: Any) -> Json:
        """The schema of one annotated type. A marker further out wins; rules add up."""
        if typing.get_origin(hint) is not typing.Annotated:
            return self._plain_schema(hint)
        inner, *markers = typing.get_args(hint)
        keywords: Json = {}
        for marker in markers:
            assert isinstance(marker, msgspec.Meta)
            keywords = _merged(keywords, marker.extra_json_schema or {})
            if marker.description:
                keywords["description"] = marker.description
        if definition := keywords.pop(DEFINITION, None):
            base = self._builtin(definition)
        elif struct := keywords.pop(SHAPE, None):
            base = self._struct_schema(struct)
        else:
            base = self._schema(inner)
        return _merged(base, keywords)

    def _plain_schema(self, hint: Any) -> Json:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (Union, types.UnionType):
            (only,) = (argument for argument in arguments if argument is not type(None))
            return self._schema(only)
        if origin is tuple:
            return {"type": "array", "items": self._schema(arguments[0])}
        if origin is dict and arguments[1] is not Any:
            return {"type": "object", "additionalProperties": self._schema(arguments[1])}
        if isinstance(hint, type) and issubclass(hint, ObjectMeta):
            return {"type": "object"}
        if isinstance(hint, type) and issubclass(hint, Struct):
            return self._struct_schema(hint)
        if hint in _SCALARS:
            return dict(_SCALARS[hint])
        raise TypeError(f"{hint} has no schema: mark it with builtin() or shape()")

    def _builtin(self, name: str) -> Json:
        if name in _REPLACED:
            return dict(_REPLACED[name])
        schema = self._inlined(self._definitions[name])
        if name == _META + "Condition":
            schema["properties"] = {
                field: {**property, **_CONDITION_LIMITS.get(field, {})} for field, property in schema["properties"].items()
            }
        if name in _NAME_HOLDERS:
            schema["x-kubernetes-map-type"] = "atomic"
        return schema

    def _inlined(self, schema: Json) -> Json:
        if reference := schema.get("$ref"):
            return self._builtin(reference.rpartition("/")[2])
        out: Json = {}
        for key, value in schema.items():
            if key == "description":
                out["description"] = first_sentence(value)
            elif key == "allOf":
                (referred,) = value
                out = {**self._inlined(referred), **out}
            elif key == "properties":
                out["properties"] = {name: self._inlined(field) for name, field in value.items()}
            elif key in ("items", "additionalProperties"):
                out[key] = self._inlined(value)
            elif key == "required":
                out["required"] = sorted(value)
            elif key not in _NOT_IN_CRDS:
                out[key] = value
        return out


def first_sentence(text: str) -> str:
    """The first sentence of a description, at most 150 characters: CRDs inline hundreds of them."""
    sentence = text.partition("\n")[0].partition(". ")[0].strip()
    if len(sentence) > _LONGEST_DESCRIPTION:
        return sentence[: _LONGEST_DESCRIPTION - 3].rpartition(" ")[0] + "..."
    return sentence if sentence.endswith(".") or not sentence else sentence + "."


def _merged(base: Json, keywords: Json) -> Json:
    rules = [*base.get("x-kubernetes-validations", ()), *keywords.get("x-kubernetes-validations", ())]
    merged = {**base, **keywords}
    if rules:
        merged["x-kubernetes-validations"] = rules
    return merged
