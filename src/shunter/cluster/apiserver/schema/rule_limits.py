"""What the rules of a CustomResourceDefinition may cost by estimate: each, and all together.

Source: apiextensions-apiserver 1.36 `apis/apiextensions/validation`.
"""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.field_errors import FieldError, forbidden

_ONE_RULE = 10_000_000
_ALL_RULES = 100_000_000
_NAMED = 4
"""Rules that are named where all together cost too much."""
_ADVICE = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared"
)


def cost_errors(field: str, what: str, cost: int) -> list[FieldError]:
    """The error of a rule that costs too much."""
    return [forbidden(field, _message(what, cost, _ONE_RULE))] if cost > _ONE_RULE else []


def total_errors(costs: Sequence[tuple[str, int]], field: str) -> list[FieldError]:
    """The errors of rules, each with its field, that cost too much together; `field` is that of the schema."""
    total = sum(cost for _, cost in costs)
    if total <= _ALL_RULES:
        return []
    most = sorted((one for one in costs if one[1] >= _ALL_RULES // 100), key=lambda one: -one[1])[:_NAMED]
    text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    return [*(forbidden(place, text) for place, _ in most), forbidden(field, _message(what, total, _ALL_RULES))]


def _message(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} ({_ADVICE})"
