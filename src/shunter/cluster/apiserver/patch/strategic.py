"""Strategic merge patches of built-in kinds: which lists are merged is read from the kind's OpenAPI schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shunter.api.meta import Json
from shunter.api.strategic_merge import (
    Field,
    InapplicablePatchError,
    MalformedPatchError,
    MergeError,
    UnexpectedPatchError,
    strategic_merge,
)
from shunter.cluster.apiserver.patch.errors import PatchError, inapplicable, malformed, unexpected

_STATUS: Mapping[type[MergeError], Callable[[str], PatchError]] = {
    MalformedPatchError: malformed,
    InapplicablePatchError: inapplicable,
    UnexpectedPatchError: unexpected,
}


def apply(document: Json, patch: Json, openapi: Json, definitions: Mapping[str, Json]) -> Json:
    """`document` with `patch` merged in; neither is changed.

    `openapi` is the kind's schema, `definitions` what its references name. Raises PatchError in kube-apiserver's words.
    """
    try:
        return strategic_merge(document, patch, Schema(openapi, definitions))
    except MergeError as error:
        raise _STATUS[type(error)](str(error)) from None


class Schema:
    """A place in an OpenAPI schema, as a `strategic_merge.Kind`."""

    def __init__(self, schema: Json, definitions: Mapping[str, Json]) -> None:
        self.schema = _resolved(schema, definitions)
        self.definitions = definitions

    @property
    def name(self) -> str:
        """`Pod`, or `struct` for a place that is no whole object."""
        kinds = self.schema.get("x-kubernetes-group-version-kind")
        return kinds[0]["kind"] if kinds else "struct"

    def field(self, name: str, *, is_list: bool) -> Field:
        """With `is_list` its type is that of the items. UnexpectedPatchError where the schema has properties and this is none of
        them; otherwise every name is a field."""
        properties = self.schema.get("properties")
        declared = properties.get(name) if properties else self.schema.get("additionalProperties", {})
        if declared is None:
            raise UnexpectedPatchError(f'unable to find api field in struct {self.name} for the json field "{name}"')
        declared = declared if isinstance(declared, dict) else {}
        strategies = [part for part in declared.get("x-kubernetes-patch-strategy", "").split(",") if part != "retainKeys"]
        below = Schema(declared, self.definitions)
        if is_list:
            below = Schema(below.schema.get("items", {}), self.definitions)
        return Field(strategies[0] if strategies else "", declared.get("x-kubernetes-patch-merge-key", ""), below)


def _resolved(schema: Json, definitions: Mapping[str, Json]) -> Json:
    while reference := schema.get("$ref") or next((part.get("$ref") for part in schema.get("allOf", ())), None):
        schema = definitions[reference.rpartition("/")[2]]
    return schema
