"""MutatingAdmissionPolicies and their bindings: rules.

Source: k8s.io/kubernetes 1.36 `apis/admissionregistration` validation.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, invalid, required
from shunter.api.meta import Json
from shunter.api.resources import MUTATING_POLICIES, MUTATING_POLICY_BINDINGS
from shunter.cluster.apiserver.admission import expression_types
from shunter.cluster.apiserver.builtin.rules.policies import (
    binding_errors,
    default_binding,
    default_policy,
    environment_of,
    expression_errors,
    policy_errors,
)
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import unsupported
from shunter.cluster.apiserver.kinds import Kind
from shunter.cluster.apiserver.schema.typecheck.checker import Environment
from shunter.cluster.apiserver.schema.typecheck.types import Type

_OPERATIONS = ["*", "CONNECT", "CREATE", "UPDATE"]
_REINVOCATIONS = ["IfNeeded", "Never"]
_FIELDS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
"""Of a mutation, by its patchType."""


def kinds() -> list[Kind]:
    """MutatingAdmissionPolicy and MutatingAdmissionPolicyBinding. A PUT has to name a resourceVersion."""
    return [
        typed(
            MUTATING_POLICIES,
            categories=("api-extensions",),
            default=default_policy,
            validate=_policy_errors,
            updates_need_revision=True,
        ),
        typed(
            MUTATING_POLICY_BINDINGS,
            categories=("api-extensions",),
            default=default_binding,
            validate=_binding_errors,
            updates_need_revision=True,
        ),
    ]


def _policy_errors(policy: Json, old: Json | None) -> list[FieldError]:
    spec = policy["spec"]
    errors = policy_errors(policy)
    errors += _operation_errors(spec.get("matchConstraints") or {}, "spec.matchConstraints")
    within = environment_of(policy, has_patches=True)
    if not spec.get("mutations"):
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for index, mutation in enumerate(spec.get("mutations") or ()):
        errors += _mutation_errors(mutation, f"spec.mutations[{index}]", within)
    reinvocation = spec.get("reinvocationPolicy") or ""
    if not reinvocation:
        errors.append(required("spec.reinvocationPolicy"))
    elif reinvocation not in _REINVOCATIONS:
        errors.append(unsupported("spec.reinvocationPolicy", reinvocation, _REINVOCATIONS))
    return errors


def _binding_errors(binding: Json, old: Json | None) -> list[FieldError]:
    resources = binding["spec"].get("matchResources") or {}
    return binding_errors(binding) + _operation_errors(resources, "spec.matchResources")


def _operation_errors(match: Json, field: str) -> list[FieldError]:
    """Nothing is left to change of what is deleted."""
    operations = [operation for rule in match.get("resourceRules") or () for operation in rule.get("operations") or ()]
    where = f"{field}.resourceRules.operations"
    return [unsupported(where, operation, _OPERATIONS) for operation in operations if operation not in _OPERATIONS]


def _mutation_errors(mutation: Json, field: str, within: Environment) -> list[FieldError]:
    kind = mutation.get("patchType") or ""
    if not kind:
        return [required(f"{field}.patchType")]
    if kind not in _FIELDS:
        return [unsupported(f"{field}.patchType", kind, sorted(_FIELDS))]
    name = _FIELDS[kind]
    here = f"{field}.{name}"
    if mutation.get(name) is None:
        errors = [required(here, f"must be specified when patchType is {kind}")]
    else:
        expression = mutation[name].get("expression") or ""
        errors = _patch_errors(expression, f"{here}.expression", within, expression_types.PATCHES[kind])
    (other,) = (one for one in _FIELDS.values() if one != name)
    if mutation.get(other) is not None:
        errors.append(invalid(f"{field}.{other}", f"{{{other}}}", f"must not be specified when patchType is {kind}"))
    return errors


def _patch_errors(expression: str, field: str, within: Environment, expected: Type) -> list[FieldError]:
    return expression_errors(expression.strip(), field, within, expected) if expression.strip() else [required(field)]
