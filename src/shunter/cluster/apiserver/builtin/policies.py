"""ValidatingAdmissionPolicies and their bindings: defaults and rules.

Source: k8s.io/kubernetes 1.36 `apis/admissionregistration` v1 defaults and validation.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, duplicate, invalid, required
from shunter.api.meta import Json
from shunter.api.names import label_key_faults
from shunter.api.resources import VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS
from shunter.cluster.apiserver.builtin.rules.policies import (
    binding_errors,
    default_binding,
    default_policy,
    environment_of,
    expression_errors,
    policy_errors,
)
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import faults, unsupported
from shunter.cluster.apiserver.kinds import Kind
from shunter.cluster.apiserver.schema.typecheck.checker import Environment
from shunter.cluster.apiserver.schema.typecheck.types import BOOL, STRING, Type

_ACTIONS = ["Audit", "Deny", "Warn"]
_REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge"]


def kinds() -> list[Kind]:
    """ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding. A PUT has to name a resourceVersion."""
    return [
        typed(
            VALIDATING_POLICIES,
            categories=("api-extensions",),
            has_status=True,
            default=default_policy,
            validate=_policy_errors,
            updates_need_revision=True,
        ),
        typed(
            VALIDATING_POLICY_BINDINGS,
            categories=("api-extensions",),
            default=default_binding,
            validate=_binding_errors,
            updates_need_revision=True,
        ),
    ]


def _policy_errors(policy: Json, old: Json | None) -> list[FieldError]:
    spec = policy["spec"]
    errors = policy_errors(policy)
    validations = spec.get("validations") or ()
    if not validations and not spec.get("auditAnnotations"):
        text = "validations or auditAnnotations must contain at least one item"
        errors += [required(f"spec.{name}", text) for name in ("validations", "auditAnnotations")]
    within, in_messages = environment_of(policy), environment_of(policy, has_authorizer=False)
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


def _audit_errors(annotation: Json, policy: str, field: str, within: Environment) -> list[FieldError]:
    key, expression = annotation.get("key") or "", annotation.get("valueExpression") or ""
    errors = faults(f"{field}.key", f"{policy}/{key}", label_key_faults(f"{policy}/{key}"))
    if not expression.strip():
        return [*errors, required(f"{field}.valueExpression", "valueExpression is not specified")]
    return errors + expression_errors(expression, f"{field}.valueExpression", within, STRING, Type("null"))


def _binding_errors(binding: Json, old: Json | None) -> list[FieldError]:
    spec = binding["spec"]
    errors = binding_errors(binding)
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


def _validation_errors(validation: Json, field: str, within: Environment, in_messages: Environment) -> list[FieldError]:
    errors = expression_errors(validation.get("expression", ""), f"{field}.expression", within, BOOL)
    if text := validation.get("messageExpression"):
        if text.strip():
            errors += expression_errors(text, f"{field}.messageExpression", in_messages, STRING)
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
