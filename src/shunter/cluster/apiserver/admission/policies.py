"""ValidatingAdmissionPolicies: expressions that must be true for a write.

Source: k8s.io/apiserver 1.36 `admission/plugin/policy/validating`; messages and codes are the same. Audit annotations are
dropped, and a policy is enforced as soon as it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS
from shunter.cluster.apiserver.admission import match_conditions
from shunter.cluster.apiserver.admission.attributes import Attributes, review
from shunter.cluster.apiserver.admission.bound_policies import Bound, BoundPolicies, ConfigurationError
from shunter.cluster.apiserver.admission.policy_expressions import ExpressionError, PolicyExpressions
from shunter.cluster.apiserver.registry import Registry
from shunter.cluster.apiserver.schema.cel_authorizer import Decide, deciding
from shunter.cluster.apiserver.status import StatusError, forbidden
from shunter.cluster.apiserver.storage.store import Store

_CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


class _Violation(NamedTuple):
    """A validation that a write fails."""

    message: str
    reason: str = "Invalid"
    is_of_policy: bool = False
    """The policy cannot be used, whatever its bindings say."""


class Policies:
    """All policies of the cluster that have a binding."""

    def __init__(self, store: Store, registry: Registry, decide: Decide) -> None:
        """`decide` answers what expressions ask the authorizer."""
        self._decide = decide
        self._policies = BoundPolicies(store, registry, VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS)

    def concern(self, attributes: Attributes, document: Json | None) -> bool:
        """Whether any policy applies to the write."""
        return bool(self._policies.concerning(attributes, document))

    def validate(self, attributes: Attributes, document: Json | None) -> None:
        """Warns, and raises the first refusal in the order of the policies' names."""
        denied: list[tuple[Bound, _Violation]] = []
        concerning = self._policies.concerning(attributes, document)
        if not concerning:
            return
        request = review(attributes, document)["request"]
        for bound in concerning:
            with deciding(self._decide):
                violations = list(self._violations(bound, request, attributes))
            for violation in violations:
                actions = ["Deny"] if violation.is_of_policy else bound.binding["spec"].get("validationActions") or ()
                if "Warn" in actions:
                    attributes.warn(f"Validation failed for {_title(bound)}: {violation.message}")
                if "Deny" in actions:
                    denied.append((bound, violation))
        if denied:
            bound, violation = denied[0]
            title = _policy_title(bound) if violation.is_of_policy else _title(bound)
            raise _refusal(attributes, f"{title} denied request: {violation.message}", violation.reason)

    def _violations(self, bound: Bound, request: Json, attributes: Attributes) -> Iterator[_Violation]:
        spec = bound.policy["spec"]
        fails_open = spec.get("failurePolicy") == "Ignore"
        values = self._policies.values(request, attributes)
        try:
            parameters = self._policies.parameters(bound, attributes)
        except ConfigurationError as error:
            if not fails_open:
                yield _Violation(str(error), is_of_policy=error.is_of_policy)
            return
        for parameter in parameters:
            bound_values = {**values, "params": parameter}
            try:
                if match_conditions.hold(spec.get("matchConditions") or (), bound_values):
                    yield from _violations_of(spec, bound_values, fails_open=fails_open)
            except match_conditions.ConditionError as error:
                if not fails_open:
                    yield _Violation(str(error))


def _violations_of(spec: Json, values: dict[str, Any], *, fails_open: bool) -> Iterator[_Violation]:
    """The validations that fail for these values and the policy's own variables."""
    expressions = PolicyExpressions(spec, values)
    for validation in spec.get("validations") or ():
        try:
            if expressions.value(validation["expression"]):
                continue
        except ExpressionError as error:
            if not fails_open:
                yield _Violation(str(error))
            continue
        yield _Violation(_message(validation, expressions), validation.get("reason") or "Invalid")


def _message(validation: Json, expressions: PolicyExpressions) -> str:
    """The result of `messageExpression`, else `message`, else the expression itself."""
    if validation.get("messageExpression"):
        try:
            said = expressions.value(validation["messageExpression"])
        except ExpressionError:
            said = ""
        if isinstance(said, str) and said.strip() and "\n" not in said:
            return said.strip()
    return str(validation.get("message", "")).strip() or f"failed expression: {validation['expression'].strip()}"


def _policy_title(bound: Bound) -> str:
    return f"ValidatingAdmissionPolicy '{bound.policy['metadata']['name']}'"


def _title(bound: Bound) -> str:
    return f"{_policy_title(bound)} with binding '{bound.binding['metadata']['name']}'"


def _refusal(attributes: Attributes, message: str, reason: str) -> StatusError:
    error = forbidden(attributes.resource, attributes.name or "Unknown", message, [{"message": message}])
    error.code, error.reason = _CODES.get(reason, 422), reason
    return error
