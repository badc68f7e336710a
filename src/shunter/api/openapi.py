"""How a type says what its CRD schema says: markers for `Annotated`, read by the CRD generator (`shunter.api.crds.generator`).

    num_nodes: Annotated[int | None, schema(minimum=0), doc("Number of training nodes.")] = None

Constraints live in the schema only, never in decoding: an object that reached us past the schema (older CRD, webhook off) must
still decode, so that its fault can be shown on the object instead of stopping the informer. For the same reason view types are
lenient: what may be malformed there is kept as plain JSON, and a field that the schema requires (`REQUIRED`) still has a default.
"""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, inspect

from shunter.api.meta import Condition, Json, Struct

DEFINITION = "x-shunter-definition"
SHAPE = "x-shunter-shape"
IS_REQUIRED = "x-shunter-required"


def schema(**keywords: Any) -> Meta:
    """OpenAPI v3 keywords as they stand in the CRD: `minimum`, `maxLength`, `enum`, `default`, `pattern`, `format`, ..."""
    return Meta(extra_json_schema=keywords)


def defaults(struct: type[Struct]) -> Json:
    """What the API server puts into fields of the struct that are left out."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    keywords = {field.encode_name: getattr(field.type, "extra_json_schema", None) or {} for field in info.fields}
    return {name: found["default"] for name, found in keywords.items() if "default" in found}


def doc(text: str) -> Meta:
    """The description that `kubectl explain` shows."""
    return Meta(description=text)


def cel(*rules: tuple[str, str]) -> Meta:
    """`x-kubernetes-validations` as (rule, message) pairs."""
    return Meta(extra_json_schema={"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in rules]})


def list_map(*keys: str, **keywords: Any) -> Meta:
    """A list whose items are identified by these keys (merge by key, duplicates refused)."""
    return Meta(extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys), **keywords})


def list_atomic(**keywords: Any) -> Meta:
    """A list that has one owner and is replaced as a whole."""
    return Meta(extra_json_schema={"x-kubernetes-list-type": "atomic", **keywords})


def builtin(definition: str) -> Meta:
    """A type of Kubernetes itself, by its OpenAPI definition name; the generator inlines its schema. Passed through opaque."""
    return Meta(extra_json_schema={DEFINITION: definition})


def shape(struct: type[Struct]) -> Meta:
    """Plain JSON to us (something merges or forwards it), with the schema of this struct."""
    return Meta(extra_json_schema={SHAPE: struct})


REQUIRED = Meta(extra_json_schema={IS_REQUIRED: True})
"""The schema refuses objects without this field; decoding does not."""

INT32 = schema(format="int32")
INT64 = schema(format="int64")
IMMUTABLE = cel(("self == oldSelf", "field is immutable"))

PodTemplate: TypeAlias = Annotated[Json, builtin("io.k8s.api.core.v1.PodTemplateSpec")]
"""A pod template is opaque: what the user wrote passes through, even fields newer than us."""

EnvVar: TypeAlias = Annotated[Json, builtin("io.k8s.api.core.v1.EnvVar")]
ResourceRequirements: TypeAlias = Annotated[Json, builtin("io.k8s.api.core.v1.ResourceRequirements")]
LocalObjectReference: TypeAlias = Annotated[Json, builtin("io.k8s.api.core.v1.LocalObjectReference")]
EmbeddedMetadata: TypeAlias = Annotated[Json, builtin("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")]
"""Metadata of a template: labels, annotations, finalizers, name and namespace."""

ConditionItem: TypeAlias = Annotated[Condition, builtin("io.k8s.apimachinery.pkg.apis.meta.v1.Condition")]
"""Decoded as our lenient view, with the schema of apimachinery's `Condition` and its limits."""
