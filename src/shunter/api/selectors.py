"""Label selectors (`metav1.LabelSelector`): which labels they match.

Source: apimachinery `LabelSelectorAsSelector`. A requirement with an unknown operator matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shunter.api.formats.digits import integer
from shunter.api.meta import Json, Struct


class LabelSelector(Struct, frozen=True):
    """Labels and requirements, all of which must hold; a part that is None and an empty one mean the same."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[Json, ...] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether all requirements hold; an empty selector matches everything."""
        return _matches(self.match_labels or {}, self.match_expressions or (), labels)


def selects(selector: Json, labels: Mapping[str, str]) -> bool:
    """Whether a selector in its JSON form (matchLabels, matchExpressions) matches the labels."""
    return _matches(selector.get("matchLabels") or {}, selector.get("matchExpressions") or (), labels)


def notation(selector: Json | None) -> str:
    """A selector as kubectl shows it: `app=web,tier in (back,front),!old`; empty for one that selects everything."""
    found = selector or {}
    terms = [f"{key}={value}" for key, value in sorted((found.get("matchLabels") or {}).items())]
    for rule in found.get("matchExpressions") or ():
        key, operator = rule.get("key", ""), rule.get("operator", "")
        values = ",".join(sorted(rule.get("values") or ()))
        words = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        terms.append(words.get(operator, f"{key} {operator} ({values})"))
    return ",".join(terms)


def requirement_holds(requirement: Json, labels: Mapping[str, str]) -> bool:
    """Whether one of `matchExpressions` holds."""
    key, values = requirement.get("key", ""), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False


def is_beyond(value: str, bound: str, *, above: bool) -> bool:
    """Whether the value of a label is a number above, or else below, the bound (operators Gt and Lt); no other text is."""
    number, limit = integer(value), integer(bound)
    return number is not None and limit is not None and (number > limit if above else number < limit)


def _matches(match_labels: Mapping[str, Any], requirements: Iterable[Json], labels: Mapping[str, str]) -> bool:
    return match_labels.items() <= labels.items() and all(requirement_holds(rule, labels) for rule in requirements)
