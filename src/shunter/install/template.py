"""Kubernetes objects with holes and conditions, as a value: one source for `shunter install`, the Kustomize base and the chart.

`filled` answers them from values here; scripts/helm_text.py writes the same tree in Helm's language. Whatever is added to the
tree must be given a meaning in both; tests/install/test_chart.py compares them for many values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from shunter.api.meta import Json


class Value(NamedTuple):
    """What stands under a path of the values, e.g. `image.tag`; of any type."""

    path: str


class Namespace(NamedTuple):
    """The namespace that the operator is installed into."""


class Item(NamedTuple):
    """The element that the `Each` around it is at."""


class Text(NamedTuple):
    """Parts put together to one string."""

    parts: tuple[str | Value | Namespace | Item, ...]


class Document(NamedTuple):
    """A string that holds the value under a path as indented JSON (which is YAML), e.g. a file in a ConfigMap."""

    path: str


class Digest(NamedTuple):
    """SHA-256, in hexadecimal, of the value under a path."""

    path: str


class On(NamedTuple):
    """Holds when the value under the path is neither false, zero nor empty."""

    path: str


class Equals(NamedTuple):
    """Holds when this text, and nothing else, stands under the path."""

    path: str
    value: str


class MoreThan(NamedTuple):
    """Holds when the number under the path is greater; for an equal one it does not."""

    path: str
    number: int


class Served(NamedTuple):
    """Holds when the cluster serves this apiVersion."""

    api_version: str


class Not(NamedTuple):
    """Holds when the condition does not."""

    condition: Condition


class AllOf(NamedTuple):
    """Holds when each of the conditions does. `all_of` makes none of a single one."""

    conditions: tuple[Condition, ...]


class AnyOf(NamedTuple):
    """Holds when one of the conditions does. `any_of` makes none of a single one."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = On | Equals | MoreThan | Served | Not | AllOf | AnyOf


def all_of(conditions: Sequence[Condition]) -> Condition:
    """All of them; the only one as it is."""
    return conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions))


def any_of(conditions: Sequence[Condition]) -> Condition:
    """One of them or more; the only one as it is."""
    return conditions[0] if len(conditions) == 1 else AnyOf(tuple(conditions))


class When(NamedTuple):
    """`then` when the condition holds, else `otherwise`; without one the key, list element or object is left out."""

    condition: Condition
    then: Any
    otherwise: Any = None


class Each(NamedTuple):
    """Inside a list: the element once for every element of the list under the path."""

    path: str
    element: Any


Hole: TypeAlias = Value | Namespace | Item | Text | Document | Digest


class Scope(NamedTuple):
    """What holes are filled from. `served` are the apiVersions that the cluster has."""

    values: Json
    namespace: str
    served: frozenset[str] = frozenset()
    item: Any = None


def filled(node: Any, scope: Scope) -> Any:
    """Plain JSON. The node itself must not be a `When` that is left out."""
    if isinstance(node, When):
        chosen = node.then if holds(node.condition, scope) else node.otherwise
        return filled(chosen, scope)
    if isinstance(node, Value | Namespace | Item | Text | Document | Digest):
        return hole(node, scope)
    if isinstance(node, dict):
        return {key: filled(value, scope) for key, value in node.items() if not _left_out(value, scope)}
    if isinstance(node, list):
        return [element for child in node for element in _elements(child, scope)]
    return node


def holds(condition: Condition, scope: Scope) -> bool:
    """Whether values and cluster fulfil the condition. Raises KeyError for a path that the values do not have."""
    match condition:
        case On(path):
            return bool(at(scope.values, path))
        case Equals(path, value):
            return bool(at(scope.values, path) == value)
        case MoreThan(path, number):
            return bool(at(scope.values, path) > number)
        case Served(api_version):
            return api_version in scope.served
        case Not(inner):
            return not holds(inner, scope)
        case AllOf(conditions):
            return all(holds(inner, scope) for inner in conditions)
        case AnyOf(conditions):
            return any(holds(inner, scope) for inner in conditions)


def hole(node: Hole, scope: Scope) -> Any:
    """What goes into its place: a value of any type, or text. Raises KeyError for a path that the values do not have."""
    match node:
        case Value(path):
            return at(scope.values, path)
        case Namespace():
            return scope.namespace
        case Item():
            return scope.item
        case Document(path):
            return json.dumps(at(scope.values, path), indent=2, sort_keys=True, ensure_ascii=False)
        case Digest(path):
            compact = json.dumps(at(scope.values, path), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
            return hashlib.sha256(compact.encode()).hexdigest()
        case Text(parts):
            return "".join(part if isinstance(part, str) else str(hole(part, scope)) for part in parts)


def at(values: Mapping[str, Any], path: str) -> Any:
    """The value under a dotted path. Raises KeyError: a template names only what values have."""
    found: Any = values
    for part in path.split("."):
        found = found[part]
    return found


def _left_out(node: Any, scope: Scope) -> bool:
    if not isinstance(node, When):
        return False
    chosen = node.then if holds(node.condition, scope) else node.otherwise
    return chosen is None or _left_out(chosen, scope)


def _elements(child: Any, scope: Scope) -> Iterator[Any]:
    if isinstance(child, Each):
        for item in at(scope.values, child.path):
            yield from _elements(child.element, scope._replace(item=item))
    elif not _left_out(child, scope):
        if isinstance(child, When):
            yield from _elements(child.then if holds(child.condition, scope) else child.otherwise, scope)
        else:
            yield filled(child, scope)
