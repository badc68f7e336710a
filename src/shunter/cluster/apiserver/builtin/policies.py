"""ValidatingAdmissionPolicies and their bindings: defaults and rules.

Source: k8s.io/kubernetes 1.36 `apis/admissionregistration` v1 defaults and validation.
"""

from __future__ import annotations

import re

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required
from shunter.api.meta import Json
from shunter.api.names import label_1035_faults, label_key_faults, subdomain_faults
from shunter.api.resources import VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS
from shunter.cluster.apiserver.admission import expression_types, match_conditions
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.builtin.webhooks import rule_errors
from shunter.cluster.apiserver.field_rules import faults, one_of, selector_errors, unsupported
from shunter.cluster.apiserver.kinds import Kind
from shunter.cluster.apiserver.schema.typecheck.checker import Environment
from shunter.cluster.apiserver.schema.typecheck.types import BOOL, STRING, Type

_ACTIONS = ["Audit", "Deny", "Warn"]
_IDENTIFIER = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge"]


def kinds() -> list[Kind]:
    """ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding. A PUT has to name a resourceVersion."""
    return [
        typed(
            VALIDATING_POLICIES,
            categories=("api-extensions",),
            has_status=True,
            default=_default_policy,
            validate=_policy_errors,
            updates_need_revision=True,
        ),
        typed(
            VALIDATING_POLICY_BINDINGS,
            categories=("api-extensions",),
            default=_default_binding,
            validate=_binding_errors,
            updates_need_revision=True,
        ),
    ]


def _default_policy(policy: Json) -> None:
    policy["spec"].setdefault("failurePolicy", "Fail")
    if (constraints := policy["spec"].get("matchConstraints")) is not None:
        _default_match(constraints)


def _default_binding(binding: Json) -> None:
    if (resources := binding["spec"].get("matchResources")) is not None:
        _default_match(resources)


def _default_match(match: Json) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for rule in (*(match.get("resourceRules") or ()), *(match.get("excludeResourceRules") or ())):
        rule.setdefault("scope", "*")


def _policy_errors(policy: Json, old: Json | None) -> list[FieldError]:
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
    types = expression_types.variable_types(variables, has_params=kind is not None)
    for index, variable in enumerate(variables):
        errors += _variable_name_errors(variable.get("name") or "", f"spec.variables[{index}].name")
        earlier = expression_types.variable_types(variables[:index], has_params=kind is not None) or {}
        within = expression_types.environment(has_params=kind is not None, variables=earlier)
        errors += _expression_errors(variable.get("expression", ""), f"spec.variables[{index}].expression", within)
    validations = spec.get("validations") or ()
    if not validations and not spec.get("auditAnnotations"):
        text = "validations or auditAnnotations must contain at least one item"
        errors += [required(f"spec.{name}", text) for name in ("validations", "auditAnnotations")]
    within = expression_types.environment(has_params=kind is not None, variables=types)
    in_messages = expression_types.environment(has_params=kind is not None, has_authorizer=False, variables=types)
    for index, validation in enumerate(validations):
        errors += _validation_errors(validation, f"spec.validations[{index}]", within, in_messages)
    annotations = spec.get("auditAnnotations") or []
    keys = [annotation.get("key") or "" for annotation in annotations]
    for index, annotation in enumerate(annotations):
        here = f"spec.auditAnnotations[{index}]"
        errors += _audit_errors(annotation, policy["metadata"].get("name", ""), here, within)
        if keys[index] in keys[:index]:
            errors.append(duplicate(f"{here}.key", keys[index]))
    return errors


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


def _audit_errors(annotation: Json, policy: str, field: str, within: Environment) -> list[FieldError]:
    key, expression = annotation.get("key") or "", annotation.get("valueExpression") or ""
    errors = faults(f"{field}.key", f"{policy}/{key}", label_key_faults(f"{policy}/{key}"))
    if not expression.strip():
        return [*errors, required(f"{field}.valueExpression", "valueExpression is not specified")]
    return errors + _expression_errors(expression, f"{field}.valueExpression", within, STRING, Type("null"))


def _binding_errors(binding: Json, old: Json | None) -> list[FieldError]:
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
    actions = spec.get("validationActions") or []
    if not actions:
        errors.append(required("spec.validationActions", "at least one validation action is required"))
    for index, action in enumerate(actions):
        if action in actions[:index]:
            errors.append(duplicate(f"spec.validationActions[{index}]", action))
        elif action not in _ACTIONS:
            errors.append(unsupported(f"spec.validationActions[{index}]", action, _ACTIONS))
    if {"Deny", "Warn"} <= set(actions):
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
            "headers serves no purpose)"
        )
        errors.append(invalid("spec.validationActions", actions, detail))
    return errors


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


def _validation_errors(validation: Json, field: str, within: Environment, in_messages: Environment) -> list[FieldError]:
    errors = _expression_errors(validation.get("expression", ""), f"{field}.expression", within, BOOL)
    if text := validation.get("messageExpression"):
        if text.strip():
            errors += _expression_errors(text, f"{field}.messageExpression", in_messages, STRING)
        else:
            errors.append(invalid(f"{field}.messageExpression", text, "must be non-empty if specified"))
    if validation.get("message") and not validation["message"].strip():
        errors.append(invalid(f"{field}.message", validation["message"], "must be non-empty if specified"))
    elif "\n" in validation.get("message", "").strip():
        errors.append(invalid(f"{field}.message", validation["message"], "must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(unsupported(f"{field}.reason", reason, _REASONS))
    return errors


def _expression_errors(expression: str, field: str, within: Environment, *expected: Type) -> list[FieldError]:
    if not expression.strip():
        return [required(field, "expression is not specified")]
    fault = expression_types.fault(expression, within, expected)
    return [invalid(field, expression, fault)] if fault else []
