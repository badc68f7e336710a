"""Admission policies with their bindings: which of them a write concerns, and the parameters that they get.

Policies and bindings are ordinary objects; they are compiled again when their collections change. Source: k8s.io/apiserver 1.36
`admission/plugin/policy/generic`, whose texts these are. There policies are in no order, here in that of their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import NAMESPACES, VALIDATING_POLICIES, Resource
from shunter.api.selectors import selects
from shunter.cluster.apiserver.admission import match_conditions
from shunter.cluster.apiserver.admission.attributes import Attributes, Rule, rule_of
from shunter.cluster.apiserver.registry import Registry, ServedKind
from shunter.cluster.apiserver.storage.store import Store

_NO_KIND = "failed to configure policy: failed to find resource referenced by paramKind"
_NO_PARAMETERS = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"


class ConfigurationError(Exception):
    """A policy that cannot be used for a write. `is_of_policy`: whatever its bindings say."""

    def __init__(self, text: str, *, is_of_policy: bool = False) -> None:
        super().__init__(text)
        self.is_of_policy = is_of_policy


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


class Bound(NamedTuple):
    """A policy with one of its bindings."""

    policy: Json
    binding: Json
    constraints: _Match
    resources: _Match


class BoundPolicies:
    """All policies of one kind that have a binding."""

    def __init__(self, store: Store, registry: Registry, policies: Resource, bindings: Resource) -> None:
        self._store = store
        self._registry = registry
        self._policies = store.collection(policies.group, policies.plural)
        self._bindings = store.collection(bindings.group, bindings.plural)
        for collection in (self._policies, self._bindings):
            collection.listeners.add(self._changed)
        self._compiled: list[Bound] | None = None

    def concerning(self, attributes: Attributes, document: Json | None) -> list[Bound]:
        """The bound policies that apply to the write. None applies to policies and webhook configurations."""
        bound = self._bound()
        if not bound or attributes.resource.group == VALIDATING_POLICIES.group:
            return []
        namespace = self._namespace(attributes, document)
        return [
            one
            for one in bound
            if one.constraints.matches(attributes, document, namespace) and one.resources.matches(attributes, document, namespace)
        ]

    def values(self, request: Json, attributes: Attributes) -> dict[str, Any]:
        """The variables of every expression of a policy about an AdmissionRequest, but those of its own and its parameters."""
        return {**match_conditions.values_of(request), "namespaceObject": self._namespace(attributes, request["object"])}

    def parameters(self, bound: Bound, attributes: Attributes) -> list[Json | None]:
        """What a policy is applied with, one after another. Raises ConfigurationError."""
        kind = bound.policy["spec"].get("paramKind")
        if not kind:
            return [None]
        served = next((one for one in self._registry.all() if _is_of(one.resource, kind)), None)
        if served is None:
            raise ConfigurationError(f"{_NO_KIND}: '{kind['apiVersion']}, Kind={kind['kind']}'", is_of_policy=True)
        found = self._parameters(served, bound, attributes)
        reference = bound.binding["spec"].get("paramRef") or {}
        if not found and reference.get("parameterNotFoundAction", "Deny") == "Deny":
            raise ConfigurationError(_NO_PARAMETERS)
        return found

    def _parameters(self, served: ServedKind, bound: Bound, attributes: Attributes) -> list[Json | None]:
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

    def _bound(self) -> list[Bound]:
        if self._compiled is None:
            policies = {entry.name: entry.document() for entry in self._policies.entries()}
            bindings = [entry.document() for entry in self._bindings.entries()]
            self._compiled = [
                Bound(
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


def _is_of(resource: Resource, kind: Json) -> bool:
    return (resource.api_version, resource.kind) == (kind["apiVersion"], kind["kind"])


def _named(rule: Json) -> tuple[Rule, frozenset[str]]:
    return rule_of(rule), frozenset(rule.get("resourceNames") or ())


def _applies(named: tuple[Rule, frozenset[str]], attributes: Attributes) -> bool:
    rule, names = named
    return rule.matches(attributes) and (not names or attributes.name in names)
