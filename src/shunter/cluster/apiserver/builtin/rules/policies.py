"""What admission policies of both kinds and their bindings have in common: defaults and rules.

Source: k8s.io/kubernetes 1.36 `apis/admissionregistration` v1 defaults and validation.
"""

from __future__ import annotations

import re
from functools import partial

from shunter.api.field_errors import FieldError, forbidden, invalid, required
from shunter.api.meta import Json
from shunter.api.names import label_1035_faults, subdomain_faults
from shunter.cluster.apiserver.admission import expression_types, match_conditions
from shunter.cluster.apiserver.builtin.webhooks import rule_errors
from shunter.cluster.apiserver.field_rules import faults, one_of, selector_errors, unsupported
from shunter.cluster.apiserver.schema.typecheck.checker import Environment
from shunter.cluster.apiserver.schema.typecheck.types import Type

_IDENTIFIER = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")


def default_policy(policy: Json) -> None:
    """In place."""
    policy["spec"].setdefault("failurePolicy", "Fail")
    if (constraints := policy["spec"].get("matchConstraints")) is not None:
        _default_match(constraints)


def default_binding(binding: Json) -> None:
    """In place."""
    if (resources := binding["spec"].get("matchResources")) is not None:
        _default_match(resources)


def policy_errors(policy: Json) -> list[FieldError]:
    """What is wrong with a policy, beside what it checks or changes."""
    spec = policy["spec"]
    errors = []
    if spec["failurePolicy"] not in ("Fail", "Ignore"):
        errors.append(unsupported("spec.failurePolicy", spec["failurePolicy"], ["Fail", "Ignore"]))
    kind = spec.get("paramKind")
    if kind is not None:
        errors += _param_kind_errors(kind)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        errors.append(required("spec.matchConstraints"))
    else:
        errors += _match_errors(constraints, "spec.matchConstraints", needs_rules=True)
    errors += match_conditions.errors(spec.get("matchConditions") or (), "spec.matchConditions", has_params=kind is not None)
    variables = spec.get("variables") or ()
    for index, variable in enumerate(variables):
        errors += _variable_name_errors(variable.get("name") or "", f"spec.variables[{index}].name")
        having = partial(expression_types.environment, has_params=kind is not None)
        within = having(variables=expression_types.variable_types(variables[:index], having) or {})
        errors += expression_errors(variable.get("expression", ""), f"spec.variables[{index}].expression", within)
    return errors


def environment_of(policy: Json, *, has_patches: bool = False, has_authorizer: bool = True) -> Environment:
    """What the expressions of a policy may name, with all its variables."""
    has_params = policy["spec"].get("paramKind") is not None
    return expression_types.environment(
        has_params=has_params,
        has_patches=has_patches,
        has_authorizer=has_authorizer,
        variables=expression_types.variable_types(
            policy["spec"].get("variables") or (), partial(expression_types.environment, has_params=has_params)
        ),
    )


def binding_errors(binding: Json) -> list[FieldError]:
    """What is wrong with a binding, beside what it does."""
    spec = binding["spec"]
    name = spec.get("policyName") or ""
    errors = faults("spec.policyName", name, subdomain_faults(name)) if name else [required("spec.policyName")]
    if (reference := spec.get("paramRef")) is not None:
        if ("name" in reference) == ("selector" in reference):
            errors += _param_errors("name" in reference)
        action = reference.get("parameterNotFoundAction") or ""
        errors += one_of("spec.paramRef.parameterNotFoundAction", action, ["Deny", "Allow"])
    if (resources := spec.get("matchResources")) is not None:
        errors += _match_errors(resources, "spec.matchResources", needs_rules=False)
    return errors


def _default_match(match: Json) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for rule in (*(match.get("resourceRules") or ()), *(match.get("excludeResourceRules") or ())):
        rule.setdefault("scope", "*")


def _param_kind_errors(kind: Json) -> list[FieldError]:
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    errors = [required(f"spec.paramKind.{one}") for one in ("apiVersion", "kind") if not kind.get(one)]
    if version.count("/") > 1:
        errors.append(invalid("spec.paramKind.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    if name and (wrong := label_1035_faults(name.lower())):
        detail = f"may have mixed case, but should otherwise match: {', '.join(wrong)}"
        errors.append(invalid("spec.paramKind.kind", name, detail))
    return errors


def _variable_name_errors(name: str, field: str) -> list[FieldError]:
    if not name:
        return [required(field, "name is not specified")]
    return [] if _IDENTIFIER.fullmatch(name) else [invalid(field, name, "must be a valid CEL identifier")]


def _param_errors(has_both: bool) -> list[FieldError]:
    if not has_both:
        return [required("spec.paramRef", "one of name or selector must be specified")]
    detail = "name and selector are mutually exclusive"
    return [forbidden(f"spec.paramRef.{name}", detail) for name in ("name", "selector")]


def _match_errors(match: Json, field: str, *, needs_rules: bool) -> list[FieldError]:
    errors = []
    if match["matchPolicy"] not in ("Equivalent", "Exact"):
        errors.append(unsupported(f"{field}.matchPolicy", match["matchPolicy"], ["Equivalent", "Exact"]))
    errors += selector_errors(match["namespaceSelector"], f"{field}.namespaceSelector")
    errors += selector_errors(match["objectSelector"], f"{field}.objectSelector")
    if needs_rules and not match.get("resourceRules"):
        errors.append(required(f"{field}.resourceRules"))
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(name) or ()):
            errors += rule_errors(rule, f"{field}.{name}[{index}]")
    return errors


def expression_errors(expression: str, field: str, within: Environment, *expected: Type) -> list[FieldError]:
    """What is wrong with an expression that evaluates to one of these types, or to any without them."""
    if not expression.strip():
        return [required(field, "expression is not specified")]
    fault = expression_types.fault(expression, within, expected)
    return [invalid(field, expression, fault)] if fault else []
