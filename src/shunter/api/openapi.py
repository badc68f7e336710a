"""How a type says what its CRD schema says: markers for `Annotated`, read by the CRD generator.

    num_nodes: Annotated[int | None, schema(minimum=0, format="int32"), doc("Number of training nodes.")] = None

Constraints live in the schema only, never in decoding: an object that reached us past the schema (older CRD, webhook off) must
still decode, so that its fault can be shown on the object instead of stopping the informer. For the same reason view types are
lenient: what may be malformed there is kept as plain JSON.
"""

from typing import Annotated, Any

from msgspec import Meta

from shunter.api.meta import Json


def schema(**keywords: Any) -> Meta:
    """OpenAPI v3 keywords as they stand in the CRD: `minimum`, `maxLength`, `enum`, `default`, `pattern`, `format`, ..."""
    return Meta(extra_json_schema=keywords)


def doc(text: str) -> Meta:
    """The description that `kubectl explain` shows."""
    return Meta(description=text)


def cel(*rules: tuple[str, str]) -> Meta:
    """`x-kubernetes-validations` as (rule, message) pairs."""
    return Meta(extra_json_schema={"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in rules]})


def list_map(*keys: str, **keywords: Any) -> Meta:
    """A list whose items are told apart by these keys (merge by key, duplicates refused)."""
    return Meta(extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys), **keywords})


def builtin(definition: str) -> Meta:
    """A type of Kubernetes itself, by its OpenAPI definition name; the generator inlines its schema. Passed through opaque."""
    return Meta(extra_json_schema={"x-shunter-definition": definition})


PodTemplate = Annotated[Json, builtin("io.k8s.api.core.v1.PodTemplateSpec")]
"""A pod template is opaque: what the user wrote passes through, even fields newer than us."""
