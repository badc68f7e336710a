"""A structural schema, read once: what pruning, defaulting and validation need of each node.

Nodes are made when an object first has a value there: a CRD with a pod template holds thousands of nodes and most objects touch a
hundred. Only the keywords that occur below a node are determined in advance, so that passes can skip whole subtrees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Flag, auto
from typing import Any, Final

from shunter.api.meta import Json
from shunter.cluster.apiserver.schema.cel import Rule, compile_rule
from shunter.cluster.apiserver.schema.cel_times import READERS

NOTHING: Final = object()
"""Stands for an absent value where None is a value."""

PYTHON_TYPES: Final[Mapping[str, type]] = {"string": str, "boolean": bool, "object": dict, "array": list}
_NUMBERS: Mapping[str, Callable[[Any], Any]] = {"number": float, "integer": int}
_PLAIN_KEYWORDS = frozenset({"type", "description", "title", "example", "externalDocs", "default"})
_CONSTRAINTS = frozenset(
    {
        *("enum", "format", "pattern", "minLength", "maxLength", "multipleOf", "minimum", "maximum"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    }
)
_ALTERNATIVES = frozenset({"allOf", "anyOf", "not", "oneOf"})


class NestedKeywords(Flag):
    """Which keywords occur in a schema or below it."""

    NOTHING = 0
    DEFAULT = auto()
    RULES = auto()
    LISTS = auto()
    EMBEDDED = auto()


class Source:
    """What the nodes of one schema share: the definitions that `$ref` names, and which keywords occur below each composite."""

    def __init__(self, definitions: Mapping[str, Json]) -> None:
        self.definitions = definitions
        self._below: dict[int, NestedKeywords] = {}

    def below(self, schema: Json) -> NestedKeywords:
        """The keywords with a pass of their own in `schema` or below it; references are not followed."""
        known = self._below.get(id(schema))
        if known is not None:
            return known
        found = NestedKeywords.NOTHING
        if schema.get("default") is not None:
            found |= NestedKeywords.DEFAULT
        if schema.get("x-kubernetes-validations"):
            found |= NestedKeywords.RULES
        if schema.get("x-kubernetes-list-type") in ("map", "set"):
            found |= NestedKeywords.LISTS
        if schema.get("x-kubernetes-embedded-resource"):
            found |= NestedKeywords.EMBEDDED
        children = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
        composites = [child for child in children if isinstance(child, dict)]
        for child in composites:
            found |= self.below(child)
        if composites:
            self._below[id(schema)] = found
        return found


class Node:
    """One node of a structural schema. `properties` fills itself; absent names give None.

    `…_below` tell whether the keyword occurs here or further down. `exact_type` is the Python type that satisfies `type` without
    further checks; `plain` holds that type for the properties that have no other constraint. `read` makes of a number or a text
    what it is to rules; None where that is the same.
    """

    __slots__ = (
        "_alternatives",
        "_origin",
        "additional",
        "constrained",
        "default",
        "defaulted",
        "defaults_below",
        "embedded",
        "embedded_below",
        "exact_type",
        "has_additional",
        "has_alternatives",
        "item",
        "list_keys",
        "list_type",
        "lists_below",
        "nullable",
        "plain",
        "preserve",
        "properties",
        "read",
        "required",
        "rules",
        "rules_below",
        "source",
        "types",
    )

    def __init__(self, schema: Json, origin: Source) -> None:
        source = resolved(schema, origin.definitions)
        self.source = source
        self._origin = origin
        self._alternatives: dict[int, Node] = {}
        self.types = _types(source)
        self.exact_type = PYTHON_TYPES.get(source.get("type", "")) if len(self.types) == 1 else None
        self.read = _reader(source) if len(self.types) == 1 else None
        self.nullable = bool(source.get("nullable"))
        self.constrained = not _CONSTRAINTS.isdisjoint(source)
        self.has_alternatives = not _ALTERNATIVES.isdisjoint(source)
        self.default = source.get("default", NOTHING)
        if self.default is None:
            self.default = NOTHING
        self.preserve = bool(source.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded = bool(source.get("x-kubernetes-embedded-resource"))
        self.list_type: str = source.get("x-kubernetes-list-type", "atomic")
        self.list_keys: tuple[str, ...] = tuple(source.get("x-kubernetes-list-map-keys", ()))
        self.required: tuple[str, ...] = tuple(source.get("required", ()))
        properties: Json = source.get("properties") or {}
        self.properties = _Properties(properties, origin)
        additional = source.get("additionalProperties")
        self.has_additional = additional is True or isinstance(additional, dict)
        self.additional: Node | None = Node(additional, origin) if isinstance(additional, dict) else None
        items = source.get("items")
        self.item: Node | None = Node(items, origin) if isinstance(items, dict) else None
        self.plain: dict[str, type] = {
            name: PYTHON_TYPES[schema["type"]]
            for name, schema in properties.items()
            if schema.get("type") in ("string", "boolean") and schema.keys() <= _PLAIN_KEYWORDS
        }
        self.defaulted: tuple[tuple[str, Any], ...] = tuple(
            (name, schema["default"]) for name, schema in properties.items() if schema.get("default") is not None
        )
        below = origin.below(source)
        self.defaults_below = NestedKeywords.DEFAULT in below
        self.rules_below = NestedKeywords.RULES in below
        self.lists_below = NestedKeywords.LISTS in below
        self.embedded_below = NestedKeywords.EMBEDDED in below
        self.rules: tuple[Rule, ...] = tuple(compile_rule(rule) for rule in source.get("x-kubernetes-validations", ()))

    def alternative(self, schema: Json) -> Node:
        """The node of one member of `anyOf`, `oneOf`, `allOf`, or of `not`."""
        node = self._alternatives.get(id(schema))
        if node is None:
            node = self._alternatives[id(schema)] = Node(schema, self._origin)
        return node


class _Properties(dict[str, "Node | None"]):
    """Nodes of an object's properties by name, made on first use. Only declared names are remembered."""

    __slots__ = ("_origin", "_schemas")

    def __init__(self, schemas: Json, origin: Source) -> None:
        super().__init__()
        self._schemas = schemas
        self._origin = origin

    def __missing__(self, name: str) -> Node | None:
        schema = self._schemas.get(name)
        if schema is None:
            return None
        node = self[name] = Node(schema, self._origin)
        return node


def resolved(source: Json, definitions: Mapping[str, Json]) -> Json:
    """The schema behind a `$ref`, also one wrapped as `allOf: [{$ref}]` beside a default or a description."""
    merged = source
    while True:
        reference = merged.get("$ref")
        siblings = {key: value for key, value in merged.items() if key != "$ref"}
        if reference is None:
            wrapped = merged.get("allOf", ())
            if len(wrapped) != 1 or "$ref" not in wrapped[0]:
                return merged
            reference = wrapped[0]["$ref"]
            siblings.pop("allOf")
        merged = {**definitions[reference.rsplit("/", 1)[1]], **siblings}


def _reader(source: Json) -> Callable[[Any], Any] | None:
    kind = source.get("type")
    return READERS.get(source.get("format", "")) if kind == "string" else _NUMBERS.get(kind or "")


def _types(source: Json) -> tuple[str, ...]:
    if source.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    declared = source.get("type")
    return (declared,) if declared else ()
