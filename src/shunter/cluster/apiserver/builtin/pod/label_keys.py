"""Labels of the pod itself that selectors of its constraints stand for: `matchLabelKeys` and `mismatchLabelKeys`.

Source: k8s.io/kubernetes 1.36 `registry/core/pod/strategy.go` and `apis/core/validation`.
"""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.field_errors import FieldError, forbidden, invalid
from shunter.api.meta import Json
from shunter.api.names import label_key_faults
from shunter.cluster.apiserver.field_rules import faults

_OPERATORS = {"matchLabelKeys": "In", "mismatchLabelKeys": "NotIn"}


def add_label_values(pod: Json) -> None:
    """Adds the pod's own values to the selectors of its spread constraints and affinity terms, in place."""
    labels = pod["metadata"].get("labels") or {}
    for term in _terms(pod["spec"]):
        selector = term.get("labelSelector")
        if selector is None:
            continue
        added = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for field, operator in _OPERATORS.items()
            for key in term.get(field) or ()
            if key in labels
        ]
        if added:
            selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]


def _terms(spec: Json) -> Iterator[Json]:
    yield from spec.get("topologySpreadConstraints") or ()
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = (spec.get("affinity") or {}).get(kind) or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted["podAffinityTerm"]


def label_keys_errors(term: Json, field: str) -> list[FieldError]:
    """What is wrong with the label keys of one constraint or term, whose selector has the pod's own values already."""
    errors: list[FieldError] = []
    selector = term.get("labelSelector")
    for name in _OPERATORS:
        keys = term.get(name) or []
        if keys and selector is None:
            errors.append(forbidden(f"{field}.{name}", "must not be specified when labelSelector is not set"))
            continue
        for index, key in enumerate(keys):
            errors += faults(f"{field}.{name}[{index}]", key, label_key_faults(key))
    matched = {key: index for index, key in enumerate(term.get("matchLabelKeys") or ())}
    seen = set((selector or {}).get("matchLabels") or ())
    for requirement in (selector or {}).get("matchExpressions") or ():
        key = requirement.get("key", "")
        if key in matched and key in seen:
            errors.append(invalid(f"{field}[{matched[key]}]", key, "exists in both matchLabelKeys and labelSelector"))
        seen.add(key)
    errors += [
        invalid(f"{field}.matchLabelKeys[{index}]", key, "exists in both matchLabelKeys and mismatchLabelKeys")
        for index, key in enumerate(term.get("matchLabelKeys") or ())
        if key in (term.get("mismatchLabelKeys") or ())
    ]
    return errors
