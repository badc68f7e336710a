"""Schemas: structural ones of custom kinds (pruned, defaulted, validated), and the Go types of built-in ones (decoded).

structure.py, counts.py     whether the schema of a CustomResourceDefinition is one, its defaults included
node.py, sharing.py         schemas as they are kept
prune.py                    unknown fields go, defaults come
validate.py, formats.py     types, bounds, patterns, formats
rules.py, cel.py            x-kubernetes-validations as they are evaluated
typecheck                   their types and costs, before they are stored; rule_limits.py, field_paths.py: what they may cost, and
                            where they may say that a fault is
cel_functions.py            Kubernetes' own functions in expressions
cel_times.py                times, durations and bytes as values of expressions; what `string` makes of them is the
                            CEL library's
cel_objects.py              objects and JSON patches that expressions make
cel_authorizer.py           what expressions of admission ask the authorizer
embedded.py, nesting.py     objects within objects; how deep they may be
golang.py                   built-in kinds, as Go's JSON decoder takes them

Tests: tests/cluster/apiserver/schema; tests/vectors/cases/schema-definitions.yaml, schema-rules.yaml and
schema-validation.yaml; expressions in cel-functions.yaml and cel-times.yaml, in the latter also texts of times and defaults
that rules refuse; cel_functions.py in test_cel.py there, cel_authorizer.py in
tests/cluster/apiserver/admission/test_policies.py, validate.py, prune.py, node.py, golang.py and embedded.py in
schema-validation.yaml, structure.py in schema-definitions.yaml, rule_limits.py in schema-rules.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shunter.api.field_errors import FieldError, invalid
from shunter.api.meta import Json
from shunter.cluster.apiserver.kinds import MalformedError, ScalePaths
from shunter.cluster.apiserver.schema import golang, prune, rules, validate
from shunter.cluster.apiserver.schema.counts import scale_errors
from shunter.cluster.apiserver.schema.embedded import embedded_errors
from shunter.cluster.apiserver.schema.node import NOTHING, Node, Source

__all__ = ["StructuralSchema", "TypedSchema", "compile_schema"]


def compile_schema(openapi: Json, definitions: Mapping[str, Json], scale: ScalePaths | None = None) -> StructuralSchema:
    """The schema of a custom kind. `definitions` are what its `$ref`s name, by the last part of the reference; `scale` are the
    replica counts to check beside the schema."""
    return StructuralSchema(openapi, definitions, scale)


class StructuralSchema:
    """A structural schema as CustomResourceDefinitions hold it. The caller handles the object's own metadata."""

    def __init__(self, openapi: Json, definitions: Mapping[str, Json], scale: ScalePaths | None = None) -> None:
        self._openapi = openapi
        self._scale = scale
        self._root = Node(openapi, Source(definitions))

    @property
    def openapi(self) -> Json:
        """The schema as given, with its `$ref`s."""
        return self._openapi

    def prune(self, obj: Json, old: Json | None = None) -> list[str]:
        """Decodes the metadata of embedded resources too: their unknown fields come last. Only that raises MalformedError."""
        unknown = prune.prune(self._root, obj, old or {})

        def coerce(path: str, value: Json, node: Node) -> None:
            if isinstance(metadata := value.get("metadata"), dict):
                given = dict(metadata)
                try:
                    unknown.extend(f"{path}.metadata.{field}" for field in _read_metadata(metadata))
                except MalformedError as error:
                    what = f'{obj.get("kind")} in version "{str(obj.get("apiVersion")).rpartition("/")[2]}"'
                    fault = invalid(f"{path}.metadata", given, str(error))
                    raise MalformedError(f"{what} cannot be handled as a {obj.get('kind')}: {fault}") from None

        prune.visit_embedded(self._root, obj, coerce, old or {})
        return unknown

    def field_names(self, path: Sequence[str | int]) -> tuple[str, ...]:
        """The fields that an object may have at the path; none where the schema describes no object there."""
        node: Node | None = self._root
        for step in path:
            if node is None:
                return ()
            node = node.item if isinstance(step, int) else node.properties[step] or node.additional
        return tuple(node.source.get("properties") or ()) if node is not None else ()

    def default(self, obj: Json, old: Json | None = None) -> None:
        """Fills in defaults. Also replaces nulls where the schema has a default and does not allow null."""
        prune.default(self._root, obj, old or {})

    def validate(self, obj: Json, old: Json | None) -> list[FieldError]:
        """`structure_errors` and then what CEL rules find; one fault stands for all rules where the object is too wrong to run
        them."""
        errors = self.structure_errors(obj, old)
        return errors + rules.rule_errors(self._root, obj, NOTHING if old is None else old, errors)

    def structure_errors(self, obj: Json, old: Json | None) -> list[FieldError]:
        """The errors that `validate` finds, without those of CEL rules."""
        earlier = NOTHING if old is None else old
        errors = validate.schema_errors(self._root, obj, earlier)
        if self._scale is not None:
            errors += scale_errors(self._scale, obj)
        errors += embedded_errors(self._root, obj)
        return errors + validate.list_errors(self._root, obj, earlier)

    def list_errors(self, obj: Json) -> list[FieldError]:
        """The errors of `structure_errors` about duplicate list entries."""
        return validate.list_errors(self._root, obj)


class TypedSchema:
    """A built-in kind: its Go type determines the decoding; validation of its values is hand-written, beside its defaults."""

    def __init__(self, definition: str, definitions: Mapping[str, Json]) -> None:
        self._definition = definition
        self._definitions = definitions
        self._read = golang.reader(definition)

    @property
    def openapi(self) -> Json:
        """As Kubernetes publishes it, with `$ref`s to its other definitions."""
        return self._definitions[self._definition]

    def prune(self, obj: Json, old: Json | None = None) -> list[str]:
        """Raises MalformedError where Go's decoder would stop, such as at a value of a wrong type."""
        return self._read(obj, old)

    def empty(self, field: str) -> Any:
        """What Go writes for a field that nobody set, e.g. `{}` for status."""
        return golang.empty(self._definition, field)

    def default(self, obj: Json, old: Json | None = None) -> None:
        """Does nothing: defaults of built-in kinds are code."""

    def validate(self, obj: Json, old: Json | None) -> list[FieldError]:
        """Returns nothing: rules of built-in kinds are code."""
        return []


_read_metadata = golang.reader("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
