"""What the expressions of a policy may name where it applies to one kind, and what is wrong with them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.apiserver.admission import expression_types
from shunter.cluster.apiserver.schema.typecheck.checker import Environment
from shunter.cluster.apiserver.schema.typecheck.compiling import type_faults
from shunter.cluster.apiserver.schema.typecheck.schemas import declared, named
from shunter.cluster.apiserver.schema.typecheck.types import DYN, Type
from shunter.cluster.policy_types.matches import GroupKind


class TypedKind(NamedTuple):
    """A kind, and the type of its objects; `structs` are the fields of the types in it, by the type's name."""

    kind: GroupKind
    type: Type
    structs: Mapping[str, Mapping[str, Type]]


def typed_kind(kind: GroupKind, schema: Json) -> TypedKind:
    """A kind of this schema, which is in one piece."""
    found = declared(schema, is_resource=True)
    structs: dict[str, Mapping[str, Type]] = {}
    return TypedKind(kind, named(found, kind.kind, structs) if found else DYN, structs)


def warnings(policy: Json, kinds: list[TypedKind], params: TypedKind | None) -> list[Json]:
    """Entries of `status.typeChecking.expressionWarnings`: an expression with all its faults for all these kinds."""
    environments = [(one.kind, _environment_of(policy, one, params)) for one in kinds]
    found = []
    for field, expression in _expressions(policy["spec"]):
        told = [f"{kind}: {faults}\n" for kind, within in environments if (faults := type_faults(expression, within))]
        if told:
            found.append({"fieldRef": field, "warning": "\n".join(told)})
    return found


def _expressions(spec: Json) -> Iterator[tuple[str, str]]:
    """The expressions that are checked, with their places: those of validations only."""
    for index, validation in enumerate(spec.get("validations") or ()):
        for name in ("expression", "messageExpression"):
            if name == "expression" or validation.get(name):
                yield f"spec.validations[{index}].{name}", validation.get(name) or ""


def _environment_of(policy: Json, kind: TypedKind, params: TypedKind | None) -> Environment:
    spec = policy["spec"]
    within = partial(_environment, kind, params, has_params=spec.get("paramKind") is not None)
    variables = expression_types.variable_types(spec.get("variables") or (), within)
    return within(variables=variables or {})


def _environment(
    kind: TypedKind, params: TypedKind | None, *, has_params: bool, variables: Mapping[str, Type] | None
) -> Environment:
    plain = expression_types.environment(has_params=has_params, variables=variables)
    known = {**plain.variables, "object": kind.type, "oldObject": kind.type}
    del known["authorizer.requestResource"]  # Expressions have it, their check has not: it warns of it.
    if params is not None:
        known["params"] = params.type
    return Environment(known, {**plain.structs, **kind.structs, **(params.structs if params else {})})
