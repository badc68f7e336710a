"""The variables of expressions about a write, with their types, and whether an expression compiles to what is expected.

Source: k8s.io/apiserver 1.36 `admission/plugin/cel/compile.go`, `composition.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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


def environment(
    *, has_params: bool = False, has_authorizer: bool = True, variables: Mapping[str, Type] | None = None
) -> Environment:
    """What an expression may read; `variables` are those of a policy that has any."""
    found = {"object": DYN, "oldObject": DYN, "request": _struct("AdmissionRequest"), "namespaceObject": _struct("Namespace")}
    if has_params:
        found["params"] = DYN
    if has_authorizer:
        found["authorizer"] = _struct("authorization.Authorizer")
        found["authorizer.requestResource"] = _struct("authorization.ResourceCheck")
    if variables is None:
        return Environment(found, _STRUCTS)
    return Environment({**found, "variables": Type("struct", _VARIABLES)}, {**_STRUCTS, _VARIABLES: variables})


def variable_types(variables: Iterable[Json], *, has_params: bool) -> dict[str, Type] | None:
    """The types of a policy's variables, each of which may read those before it; None without any."""
    found: dict[str, Type] | None = None
    for variable in variables:
        found = found or {}
        found[variable.get("name", "")] = _variable_type(
            variable.get("expression", ""), environment(has_params=has_params, variables=found)
        )
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
