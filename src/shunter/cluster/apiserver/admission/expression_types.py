"""The variables of expressions about a write, with their types, and whether an expression compiles to what is expected.

Source: k8s.io/apiserver 1.36 `admission/plugin/cel/compile.go`, `composition.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from shunter.api.meta import Json
from shunter.cluster.apiserver.schema.cel import CompilationError
from shunter.cluster.apiserver.schema.typecheck.checker import Environment
from shunter.cluster.apiserver.schema.typecheck.compiling import compiled
from shunter.cluster.apiserver.schema.typecheck.types import BOOL, DYN, INT, STRING, Type, list_of, map_of

_TIMESTAMP = Type("timestamp")
_TEXTS = list_of(STRING)
_LABELS = map_of(STRING, STRING)
_VARIABLES = "kubernetes.variables"
_PLAIN = ("any", "bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint")
_LONG_NAMES = {"null": "null_type", "duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}


def _texts(names: str) -> dict[str, Type]:
    return dict.fromkeys(names.split(), STRING)


def _struct(name: str) -> Type:
    return Type("struct", f"kubernetes.{name}")


_STRUCTS: Mapping[str, Mapping[str, Type]] = {
    "kubernetes.AdmissionRequest": {
        **_texts("subResource requestSubResource name namespace operation"),
        "kind": _struct("GroupVersionKind"),
        "resource": _struct("GroupVersionResource"),
        "requestKind": _struct("GroupVersionKind"),
        "requestResource": _struct("GroupVersionResource"),
        "userInfo": _struct("UserInfo"),
        "dryRun": BOOL,
        "options": DYN,
    },
    "kubernetes.GroupVersionKind": _texts("group version kind"),
    "kubernetes.GroupVersionResource": _texts("group version resource"),
    "kubernetes.UserInfo": {**_texts("username uid"), "groups": _TEXTS, "extra": map_of(STRING, _TEXTS)},
    "kubernetes.Namespace": {
        "metadata": _struct("NamespaceMetadata"),
        "spec": _struct("NamespaceSpec"),
        "status": _struct("NamespaceStatus"),
    },
    "kubernetes.NamespaceMetadata": {
        **_texts("name generateName namespace UID resourceVersion"),
        **dict.fromkeys(("labels", "annotations"), _LABELS),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": _TEXTS,
    },
    "kubernetes.NamespaceSpec": {"finalizers": _TEXTS},
    "kubernetes.NamespaceStatus": {"conditions": list_of(_struct("NamespaceCondition")), "phase": STRING},
    "kubernetes.NamespaceCondition": {**_texts("status type message reason"), "lastTransitionTime": _TIMESTAMP},
}


PATCHES: Mapping[str, Type] = {"ApplyConfiguration": Type("struct", "Object"), "JSONPatch": list_of(Type("struct", "JSONPatch"))}
"""What the expression of a mutation evaluates to, by its patchType."""


class _AnyField(dict[str, Type]):
    """Fields of which all others are of one type."""

    def __init__(self, others: Type, **declared: Type) -> None:
        super().__init__(declared)
        self._others = others

    def get(self, name: str, default: Any = None) -> Type:
        return super().get(name) or self._others


_OBJECT = _AnyField(DYN)
_JSON_PATCH = _AnyField(Type(""), **_texts("op path from"), value=DYN)


class _WithObjects(dict[str, Mapping[str, Type]]):
    """Also `JSONPatch`, `Object`, and `Object.spec` and the like for the parts of an object."""

    def __init__(self, structs: Mapping[str, Mapping[str, Type]]) -> None:
        super().__init__({**structs, "JSONPatch": _JSON_PATCH})

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or _is_object(name)

    def get(self, name: str, default: Any = None) -> Any:
        return _OBJECT if _is_object(name) else super().get(name, default)


def _is_object(name: object) -> bool:
    return isinstance(name, str) and name.partition(".")[0] == "Object"


def environment(
    *,
    has_params: bool = False,
    has_authorizer: bool = True,
    has_patches: bool = False,
    variables: Mapping[str, Type] | None = None,
) -> Environment:
    """What an expression may read; `variables` are those of a policy that has any. `has_patches`: it may also make objects and
    JSON patches."""
    found = {"object": DYN, "oldObject": DYN, "request": _struct("AdmissionRequest"), "namespaceObject": _struct("Namespace")}
    if has_params:
        found["params"] = DYN
    if has_authorizer:
        found["authorizer"] = _struct("authorization.Authorizer")
        found["authorizer.requestResource"] = _struct("authorization.ResourceCheck")
    structs = _WithObjects(_STRUCTS) if has_patches else dict(_STRUCTS)
    if variables is not None:
        found["variables"] = Type("struct", _VARIABLES)
        structs[_VARIABLES] = variables
    return Environment(found, structs)


class Within(Protocol):
    """What a variable may read besides the variables before it."""

    def __call__(self, *, variables: Mapping[str, Type] | None) -> Environment:
        """With these variables."""


def variable_types(variables: Iterable[Json], within: Within) -> dict[str, Type] | None:
    """The types of a policy's variables, each of which may read those before it; None without any."""
    found: dict[str, Type] | None = None
    for variable in variables:
        found = found or {}
        found[variable.get("name", "")] = _variable_type(variable.get("expression", ""), within(variables=found))
    return found


def _variable_type(expression: str, within: Environment) -> Type:
    try:
        return _kept(compiled(expression, within).type)
    except CompilationError:
        return DYN


def _kept(one: Type) -> Type:
    """What is known of a variable's type: of objects and of types with a name nothing."""
    if one.kind in ("list", "map"):
        return one._replace(parameters=tuple(map(_kept, one.parameters)))
    return one if one.kind in _PLAIN else DYN


def fault(expression: str, within: Environment, expected: Sequence[Type]) -> str:
    """Why an expression does not compile to one of the `expected` types, or to any without them; empty when it does."""
    try:
        found = compiled(expression, within).type
    except CompilationError as error:
        return str(error)
    if not expected or found in expected:
        return ""
    names = " ".join(map(_long_name, expected))
    return f"must evaluate to {names if len(expected) == 1 else f'one of [{names}]'} but got {_long_name(found)}"


def _long_name(one: Type) -> str:
    name = one.name or _LONG_NAMES.get(one.kind, one.kind)
    return f"{name}({', '.join(map(_long_name, one.parameters))})" if one.parameters else name
