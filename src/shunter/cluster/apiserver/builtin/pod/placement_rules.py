"""What a pod may say about where it runs: how pods are spread, affinity to nodes and to other pods.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required
from shunter.api.meta import Json
from shunter.api.names import label_faults, label_key_faults, label_value_faults, subdomain_faults
from shunter.cluster.apiserver.builtin.pod.label_keys import label_keys_errors
from shunter.cluster.apiserver.field_rules import faults, selector_errors, unsupported


def spread_errors(constraints: list[Json], field: str) -> list[FieldError]:
    """The `topologySpreadConstraints` of a pod spec."""
    errors: list[FieldError] = []
    for index, constraint in enumerate(constraints):
        here = f"{field}[{index}]"
        if constraint.get("maxSkew", 0) <= 0:
            errors.append(invalid(f"{here}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero"))
        if not constraint.get("topologyKey"):
            errors.append(required(f"{here}.topologyKey", "can not be empty"))
        otherwise = constraint.get("whenUnsatisfiable", "")
        if otherwise not in ("DoNotSchedule", "ScheduleAnyway"):
            errors.append(unsupported(f"{here}.whenUnsatisfiable", otherwise, ["DoNotSchedule", "ScheduleAnyway"]))
        errors += selector_errors(constraint.get("labelSelector"), f"{here}.labelSelector")
        errors += _spread_domain_errors(constraint, otherwise, here)
        pair = (constraint.get("topologyKey", ""), otherwise)
        if any(pair == (one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")) for one in constraints[index + 1 :]):
            errors.append(duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", "{{{}, {}}}".format(*pair)))
    return errors


def _spread_domain_errors(constraint: Json, otherwise: str, field: str) -> list[FieldError]:
    """How many domains there have to be at least, and which nodes count."""
    errors: list[FieldError] = []
    domains = constraint.get("minDomains")
    if domains is not None and domains <= 0:
        errors.append(invalid(f"{field}.minDomains", domains, "must be greater than zero"))
    if domains is not None and otherwise != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {otherwise}"
        errors.append(invalid(f"{field}.minDomains", domains, detail))
    errors += [
        unsupported(f"{field}.{name}", constraint[name], ["Honor", "Ignore"])
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy")
        if constraint.get(name) not in (None, "Honor", "Ignore")
    ]
    return errors + label_keys_errors(constraint, field)


def node_affinity_errors(affinity: Json, field: str) -> list[FieldError]:
    """The `nodeAffinity` of a pod spec."""
    errors: list[FieldError] = []
    needed = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if needed is not None:
        errors += node_selector_errors(needed, f"{field}.requiredDuringSchedulingIgnoredDuringExecution")
    return errors + _preference_errors(affinity, field, "preference", _node_term_errors)


def pod_affinity_errors(affinity: Json, field: str) -> list[FieldError]:
    """The `podAffinity` or `podAntiAffinity` of a pod spec."""
    errors: list[FieldError] = []
    for index, term in enumerate(affinity.get("requiredDuringSchedulingIgnoredDuringExecution", ())):
        errors += _pod_term_errors(term, f"{field}.requiredDuringSchedulingIgnoredDuringExecution[{index}]")
    return errors + _preference_errors(affinity, field, "podAffinityTerm", _pod_term_errors)


def _preference_errors(
    affinity: Json, field: str, part: str, term_errors: Callable[[Json, str], list[FieldError]]
) -> list[FieldError]:
    """The errors of terms with a weight, which are at `part` of each."""
    errors: list[FieldError] = []
    for index, preference in enumerate(affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ())):
        here = f"{field}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        weight = preference.get("weight", 0)
        if not 1 <= weight <= 100:
            errors.append(invalid(f"{here}.weight", weight, "must be in the range 1-100"))
        errors += term_errors(preference[part], f"{here}.{part}")
    return errors


def _pod_term_errors(term: Json, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("labelSelector", "namespaceSelector"):
        errors += selector_errors(term.get(name), f"{field}.{name}")
    for namespace in term.get("namespaces", ()):
        errors += faults(f"{field}.namespace", namespace, label_faults(namespace))
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{field}.topologyKey", "can not be empty"))
    return errors + faults(f"{field}.topologyKey", key, label_key_faults(key)) + label_keys_errors(term, field)


def node_selector_errors(selector: Json, field: str) -> list[FieldError]:
    """A v1.NodeSelector."""
    here, terms = f"{field}.nodeSelectorTerms", selector.get("nodeSelectorTerms") or []
    errors = [] if terms else [required(here, "must have at least one node selector term")]
    for index, term in enumerate(terms):
        errors += _node_term_errors(term, f"{here}[{index}]")
    return errors


def _node_term_errors(term: Json, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, requirement in enumerate(term.get("matchExpressions", ())):
        here = f"{field}.matchExpressions[{index}]"
        operator, values = requirement.get("operator", ""), requirement.get("values", [])
        errors += _node_operator_errors(operator, values, here)
        errors += faults(f"{here}.key", requirement.get("key", ""), label_key_faults(requirement.get("key", "")))
        for at, value in enumerate(values):
            errors += faults(f"{here}.values[{at}]", value, label_value_faults(value))
    for index, requirement in enumerate(term.get("matchFields", ())):
        errors += _node_field_errors(requirement, f"{field}.matchFields[{index}]")
    return errors


def _node_field_errors(requirement: Json, field: str) -> list[FieldError]:
    """The errors of requirements on fields of a node: only its name can be required, one at a time."""
    key, operator, values = requirement.get("key", ""), requirement.get("operator", ""), requirement.get("values", [])
    errors: list[FieldError] = []
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{field}.values", detail))
    if key != "metadata.name":
        return [*errors, invalid(f"{field}.key", key, "not a valid field selector key")]
    for at, value in enumerate(values):
        errors += faults(f"{field}.values[{at}]", value, subdomain_faults(value))
    return errors


def _node_operator_errors(operator: str, values: list[Any], field: str) -> list[FieldError]:
    if operator in ("In", "NotIn"):
        return [] if values else [required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in ("Exists", "DoesNotExist"):
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [forbidden(f"{field}.values", detail)] if values else []
    if operator in ("Gt", "Lt"):
        detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        return [] if len(values) == 1 else [required(f"{field}.values", detail)]
    return [invalid(f"{field}.operator", operator, "not a valid selector operator")]
