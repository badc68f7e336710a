"""Terms of node selectors (`core/v1` NodeSelectorTerm): which nodes they take.

Source: k8s.io/component-helpers `scheduling/corev1/nodeaffinity`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shunter.api.meta import Json
from shunter.api.selectors import is_beyond, requirement_holds


def any_holds(terms: Iterable[Json], name: str, labels: Mapping[str, str]) -> bool:
    """Whether one of the terms takes a node of this name and with these labels."""
    return any(_holds(term, name, labels) for term in terms)


def _holds(term: Json, name: str, labels: Mapping[str, str]) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    named = {"metadata.name": name}
    return all(_matches(rule, labels) for rule in expressions) and all(_matches(rule, named) for rule in fields)


def _matches(rule: Json, labels: Mapping[str, str]) -> bool:
    if rule.get("operator") not in ("Gt", "Lt"):
        return requirement_holds(rule, labels)
    values: list[str] = rule.get("values") or []
    return len(values) == 1 and is_beyond(labels.get(rule["key"], ""), values[0], above=rule["operator"] == "Gt")
