"""MutatingAdmissionPolicies: what expressions change of a write, by an apply configuration or by a JSON patch.

Source: k8s.io/apiserver 1.36 `admission/plugin/policy/mutating`; messages and codes are the same. A policy is enforced as soon as
it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shunter.api.meta import Json
from shunter.api.meta import as_json as plain_copy
from shunter.api.resources import MUTATING_POLICIES, MUTATING_POLICY_BINDINGS
from shunter.cluster.apiserver.admission import match_conditions
from shunter.cluster.apiserver.admission.attributes import Attributes, review
from shunter.cluster.apiserver.admission.bound_policies import Bound, BoundPolicies, ConfigurationError
from shunter.cluster.apiserver.admission.policy_expressions import ExpressionError, PolicyExpressions
from shunter.cluster.apiserver.apply.fields import FieldTree
from shunter.cluster.apiserver.apply.merge import merged
from shunter.cluster.apiserver.apply.typed import misfits, summary
from shunter.cluster.apiserver.decoding import fill_defaults
from shunter.cluster.apiserver.kinds import MalformedError
from shunter.cluster.apiserver.patch import json_patch
from shunter.cluster.apiserver.patch.errors import FailedTestError, PatchError
from shunter.cluster.apiserver.registry import Registry, ServedKind
from shunter.cluster.apiserver.schema.cel_authorizer import Decide, deciding
from shunter.cluster.apiserver.schema.cel_objects import TYPE, WrongTypeError, as_json, with_maps
from shunter.cluster.apiserver.status import StatusError, forbidden, internal
from shunter.cluster.apiserver.storage.store import Store


class MutationError(Exception):
    """A mutation that does not apply; decided by the policy's failurePolicy."""


class MutatingPolicies:
    """All mutating policies of the cluster that have a binding."""

    def __init__(self, store: Store, registry: Registry, decide: Decide) -> None:
        """`decide` answers what expressions ask the authorizer."""
        self._decide = decide
        self._policies = BoundPolicies(store, registry, MUTATING_POLICIES, MUTATING_POLICY_BINDINGS)

    def concern(self, attributes: Attributes, document: Json) -> bool:
        """Whether any policy applies to the write."""
        return bool(self._policies.concerning(attributes, document))

    def mutated(self, served: ServedKind, attributes: Attributes, document: Json, *, again: bool = False) -> Json:
        """The object after all policies, one after another; `again`: after those that may be applied once more. The object itself
        where nothing applies. Raises the first refusal of those that fail and may not be ignored."""
        failures: list[tuple[Bound, str, str]] = []
        for bound in self._policies.concerning(attributes, document):
            spec = bound.policy["spec"]
            if again and spec.get("reinvocationPolicy") != "IfNeeded":
                continue
            try:
                parameters = self._policies.parameters(bound, attributes)
            except ConfigurationError as error:
                failures.append((bound, str(error), "Forbidden"))
                continue
            for parameter in parameters:
                with deciding(self._decide):
                    document, faults = self._mutated_by(served, spec, parameter, attributes, document)
                failures += [(bound, fault, "Invalid") for fault in faults]
        denied = [failure for failure in failures if failure[0].policy["spec"].get("failurePolicy") != "Ignore"]
        if denied:
            raise _refusal(attributes, denied)
        return document

    def _mutated_by(
        self, served: ServedKind, spec: Json, parameter: Json | None, attributes: Attributes, document: Json
    ) -> tuple[Json, list[str]]:
        """The object after the mutations of one policy, and what is wrong with those that do not apply."""
        faults = []
        try:
            if not match_conditions.hold(spec.get("matchConditions") or (), self._values(attributes, document, parameter)):
                return document, []
        except match_conditions.ConditionError as error:
            return document, [str(error)]
        for mutation in spec.get("mutations") or ():
            expressions = PolicyExpressions(spec, self._values(attributes, document, parameter))
            try:
                document = _completed(served, _applied(served.tree, mutation, expressions, document))
            except (MutationError, ExpressionError) as error:
                faults.append(str(error))
        return document, faults

    def _values(self, attributes: Attributes, document: Json, parameter: Json | None) -> dict[str, Any]:
        request = review(attributes, document)["request"]
        return {**self._policies.values(request, attributes), "params": parameter}


def _applied(tree: FieldTree, mutation: Json, expressions: PolicyExpressions, document: Json) -> Json:
    """A copy of the object after one mutation; the object itself where a test of a JSON patch fails."""
    if mutation["patchType"] == "ApplyConfiguration":
        return _configured(tree, _value(mutation["applyConfiguration"]["expression"], expressions), document)
    operations = _value(mutation["jsonPatch"]["expression"], expressions)
    try:
        return plain_copy(json_patch.apply(document, [_operation(one) for one in operations]))
    except FailedTestError:
        return document
    except PatchError as error:
        raise MutationError(f"JSON Patch: {error.why}") from None


def _value(expression: str, expressions: PolicyExpressions) -> Any:
    return expressions.value(with_maps(expression), shown=expression)


def _operation(made: Json) -> Json:
    value = made.get("value")
    parts = {name: part for name, part in made.items() if name not in (TYPE, "value")}
    return {**parts, "value": _typed(value, value.get(TYPE, "") if isinstance(value, dict) else "")} if "value" in made else parts


def _configured(tree: FieldTree, configuration: Any, document: Json) -> Json:
    applied = {**_typed(configuration, "Object"), "apiVersion": document["apiVersion"], "kind": document["kind"]}
    if faults := misfits(applied, tree):
        raise MutationError(f"error applying patch: failed to convert patch object to typed object: {summary(faults)}")
    if atomic := list(_atomic(applied, tree, "")):
        text = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
        raise MutationError(f"error applying patch: invalid ApplyConfiguration: {text}")
    return plain_copy(merged(document, applied, tree))


def _typed(value: Any, path: str) -> Any:
    try:
        return as_json(value, path)
    except WrongTypeError as error:
        raise MutationError(f"type mismatch: {error}") from None


def _atomic(value: Any, tree: FieldTree, path: str) -> Iterator[str]:
    """The places of the configuration that would be replaced as a whole."""
    if isinstance(value, dict) and tree.is_map:
        if not tree.is_granular:
            yield path
        for name, part in value.items():
            if child := tree.fields.get(name):
                yield from _atomic(part, child, f"{path}.{name}")
    elif isinstance(value, list) and tree.list_type:
        if tree.list_type == "atomic":
            yield path
        for index, item in enumerate(value):
            yield from _atomic(item, tree.item, f"{path}[{index}]")


def _completed(served: ServedKind, document: Json) -> Json:
    """With defaults. Raises 500 where the kind has no such fields."""
    try:
        unknown = served.kind.schema().prune(document)
    except MalformedError as error:
        raise internal(str(error)) from None
    if unknown and not served.custom:
        raise internal("strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in unknown))
    fill_defaults(served, document)
    return document


def _refusal(attributes: Attributes, denied: Sequence[tuple[Bound, str, str]]) -> StatusError:
    messages = [f"{_title(bound)} denied request: {fault}" for bound, fault, _ in denied]
    error = forbidden(attributes.resource, attributes.name or "Unknown", messages[0], [{"message": text} for text in messages])
    error.reason, error.message = denied[0][2], messages[0]
    return error


def _title(bound: Bound) -> str:
    return f"policy '{bound.policy['metadata']['name']}' with binding '{bound.binding['metadata']['name']}'"
