"""ValidatingAdmissionPolicies and their bindings: expressions that must be true for a write.

Policies and bindings are ordinary objects; they are compiled again when their collections change. Source: k8s.io/apiserver 1.36
`admission/plugin/policy/validating`; messages and codes are the same. Audit annotations are
dropped, and a policy is enforced as soon as it is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import (
    NAMESPACES,
    VALIDATING_POLICIES,
    VALIDATING_POLICY_BINDINGS,
    Resource,
)
from shunter.api.selectors import selects
from shunter.cluster.apiserver.admission import match_conditions
from shunter.cluster.apiserver.admission.attributes import Attributes, Rule, review, rule_of
from shunter.cluster.apiserver.registry import Registry, ServedKind
from shunter.cluster.apiserver.schema import cel
from shunter.cluster.apiserver.schema.cel_authorizer import Decide, deciding
from shunter.cluster.apiserver.status import StatusError, forbidden
from shunter.cluster.apiserver.storage.store import Store

_CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
_GROUP = VALIDATING_POLICIES.group
_NO_KIND = "failed to configure policy: failed to find resource referenced by paramKind"
_NO_PARAMETERS = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"


class _Violation(NamedTuple):
    """A validation that a write fails."""

    message: str
    reason: str = "Invalid"
    is_of_policy: bool = False
    """The policy cannot be used, whatever its bindings say."""


class _Match:
    """`matchConstraints` of a policy, or `matchResources` of a binding."""

    def __init__(self, constraints: Json, *, everything: bool) -> None:
        """Without resource rules it matches `everything`, or nothing."""
        self._rules = [_named(rule) for rule in constraints.get("resourceRules") or ()]
        self._excluded = [_named(rule) for rule in constraints.get("excludeResourceRules") or ()]
        self._everything = everything
        self._namespaces: Json = constraints.get("namespaceSelector") or {}
        self._objects: Json = constraints.get("objectSelector") or {}

    def matches(self, attributes: Attributes, document: Json | None, namespace: Json | None) -> bool:
        rules_match = any(_applies(rule, attributes) for rule in self._rules) if self._rules else self._everything
        if not rules_match or any(_applies(rule, attributes) for rule in self._excluded):
            return False
        if namespace is not None and not selects(self._namespaces, namespace["metadata"].get("labels") or {}):
            return False
        return any(selects(self._objects, labels) for labels in attributes.labels(document))


class _Bound(NamedTuple):
    """A policy with one of its bindings."""

    policy: Json
    binding: Json
    constraints: _Match
    resources: _Match


class Policies:
    """All policies of the cluster that have a binding."""

    def __init__(self, store: Store, registry: Registry, decide: Decide) -> None:
        """`decide` answers what expressions ask the authorizer."""
        self._store = store
        self._decide = decide
        self._registry = registry
        self._policies = store.collection(_GROUP, VALIDATING_POLICIES.plural)
        self._bindings = store.collection(_GROUP, VALIDATING_POLICY_BINDINGS.plural)
        for collection in (self._policies, self._bindings):
            collection.listeners.add(self._changed)
        self._compiled: list[_Bound] | None = None

    def concern(self, attributes: Attributes, document: Json | None) -> bool:
        """Whether any policy applies to the write."""
        return bool(self._concerning(attributes, document))

    def validate(self, attributes: Attributes, document: Json | None) -> None:
        """Warns, and raises the first refusal in the order of the policies' names."""
        denied: list[tuple[_Bound, _Violation]] = []
        concerning = self._concerning(attributes, document)
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

    def _concerning(self, attributes: Attributes, document: Json | None) -> list[_Bound]:
        bound = self._bound()
        if not bound or attributes.resource.group == _GROUP:
            return []
        namespace = self._namespace(attributes, document)
        return [
            one
            for one in bound
            if one.constraints.matches(attributes, document, namespace) and one.resources.matches(attributes, document, namespace)
        ]

    def _violations(self, bound: _Bound, request: Json, attributes: Attributes) -> Iterator[_Violation]:
        spec = bound.policy["spec"]
        fails_open = spec.get("failurePolicy") == "Ignore"
        values = {**match_conditions.values_of(request), "namespaceObject": self._namespace(attributes, request["object"])}
        parameters: list[Json | None] = [None]
        if kind := spec.get("paramKind"):
            served = next((one for one in self._registry.all() if _is_of(one.resource, kind)), None)
            if served is None:
                if not fails_open:
                    yield _Violation(f"{_NO_KIND}: '{kind['apiVersion']}, Kind={kind['kind']}'", is_of_policy=True)
                return
            parameters = self._parameters(served, bound, attributes)
        reference = bound.binding["spec"].get("paramRef") or {}
        if not parameters and reference.get("parameterNotFoundAction", "Deny") == "Deny" and not fails_open:
            yield _Violation(_NO_PARAMETERS)
        for parameter in parameters:
            bound_values = {**values, "params": parameter}
            try:
                if match_conditions.hold(spec.get("matchConditions") or (), bound_values):
                    yield from _violations_of(spec, bound_values, fails_open=fails_open)
            except match_conditions.ConditionError as error:
                if not fails_open:
                    yield _Violation(str(error))

    def _parameters(self, served: ServedKind, bound: _Bound, attributes: Attributes) -> list[Json | None]:
        """The objects that the binding's paramRef names: by their name, or by their labels."""
        reference: Json = bound.binding["spec"].get("paramRef") or {}
        namespace = reference.get("namespace") or attributes.namespace
        name, selector = reference.get("name"), reference.get("selector") or {}
        return [
            served.document(entry)
            for entry in self._store.collection(*served.key).entries()
            if entry.namespace in ("", namespace)
            and (entry.name == name if name is not None else selects(selector, entry.labels))
        ]

    def _namespace(self, attributes: Attributes, document: Json | None) -> Json | None:
        """The namespace of the write; None for cluster-scoped objects but namespaces, which are their own."""
        if attributes.resource.plural == NAMESPACES.plural and not attributes.resource.group:
            return document or attributes.old
        if not attributes.resource.namespaced:
            return None
        entry = self._store.collection("", NAMESPACES.plural).head("", attributes.namespace)
        return entry.document() if entry else {"metadata": {}}

    def _bound(self) -> list[_Bound]:
        if self._compiled is None:
            policies = {entry.name: entry.document() for entry in self._policies.entries()}
            bindings = [entry.document() for entry in self._bindings.entries()]
            self._compiled = [
                _Bound(
                    policy,
                    binding,
                    _Match(policy["spec"].get("matchConstraints") or {}, everything=False),
                    _Match(binding["spec"].get("matchResources") or {}, everything=True),
                )
                for name, policy in sorted(policies.items())
                for binding in bindings
                if binding["spec"].get("policyName") == name
            ]
        return self._compiled

    def _changed(self, events: Iterable[object]) -> None:
        self._compiled = None


def _violations_of(spec: Json, values: dict[str, Any], *, fails_open: bool) -> Iterator[_Violation]:
    """The validations that fail for these values and the policy's own variables."""
    values = {**values, "variables": {}}
    failed: dict[str, str] = {}
    for variable in spec.get("variables") or ():
        try:
            values["variables"] = {**values["variables"], variable["name"]: cel.evaluated(variable["expression"], values)}
        except cel.EvaluationError as error:
            failed[variable["name"]] = _cause(error, variable["expression"], failed)
    for validation in spec.get("validations") or ():
        expression = validation["expression"].strip()
        try:
            if cel.evaluated(validation["expression"], values):
                continue
        except cel.EvaluationError as error:
            if not fails_open:
                yield _Violation(f"expression '{expression}' resulted in error: {_cause(error, expression, failed)}")
            continue
        yield _Violation(_message(validation, expression, values), validation.get("reason") or "Invalid")


def _cause(error: cel.EvaluationError, expression: str, failed: Mapping[str, str]) -> str:
    """The error of an expression: where it uses a variable that failed, which one and why."""
    name = str(error).removeprefix("no such key: ")
    if name in failed and f"variables.{name}" in expression:
        return f'composited variable "{name}" fails to evaluate: {failed[name]}'
    return str(error)


def _message(validation: Json, expression: str, values: dict[str, Any]) -> str:
    """The result of `messageExpression`, else `message`, else the expression itself."""
    if validation.get("messageExpression"):
        try:
            said = cel.evaluated(validation["messageExpression"], values)
        except cel.EvaluationError:
            said = ""
        if isinstance(said, str) and said.strip() and "\n" not in said:
            return said.strip()
    return str(validation.get("message", "")).strip() or f"failed expression: {expression}"


def _is_of(resource: Resource, kind: Json) -> bool:
    return (resource.api_version, resource.kind) == (kind["apiVersion"], kind["kind"])


def _policy_title(bound: _Bound) -> str:
    return f"ValidatingAdmissionPolicy '{bound.policy['metadata']['name']}'"


def _title(bound: _Bound) -> str:
    return f"{_policy_title(bound)} with binding '{bound.binding['metadata']['name']}'"


def _refusal(attributes: Attributes, message: str, reason: str) -> StatusError:
    error = forbidden(attributes.resource, attributes.name or "Unknown", message, [{"message": message}])
    error.code, error.reason = _CODES.get(reason, 422), reason
    return error


def _named(rule: Json) -> tuple[Rule, frozenset[str]]:
    return rule_of(rule), frozenset(rule.get("resourceNames") or ())


def _applies(named: tuple[Rule, frozenset[str]], attributes: Attributes) -> bool:
    rule, names = named
    return rule.matches(attributes) and (not names or attributes.name in names)
