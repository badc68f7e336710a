"""What ResourceQuotas and LimitRanges may say.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, inf, nan

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required
from shunter.api.formats.quantity import canonical, parse
from shunter.api.meta import Json
from shunter.api.names import label_key_faults
from shunter.api.scheduling.pod_requests import may_overcommit
from shunter.cluster.apiserver.builtin.rules.resources import (
    COUNTED,
    amount_errors,
    container_resource_name_errors,
    is_quota_resource,
    quota_resource_name_errors,
    resource_name_errors,
)
from shunter.cluster.apiserver.field_rules import IMMUTABLE, faults

_OF_PODS = frozenset(("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"))
_COUNTED_IN = {
    "Terminating": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "NotBestEffort": _OF_PODS,
    "PriorityClass": _OF_PODS,
    "CrossNamespacePodAffinity": _OF_PODS,
    "BestEffort": frozenset(("pods",)),
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
}
"""The resources that a quota of each scope may count."""
_HAS_VALUES = ("PriorityClass", "VolumeAttributesClass")
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_MOST_MILLI = (2**63 - 1) // 1000


def resource_quota_errors(quota: Json, old: Json | None) -> list[FieldError]:
    """Amounts of objects are whole numbers, scopes have to fit what is counted, and the set of scopes never changes."""
    spec = quota["spec"]
    errors = [
        error
        for name, amount in sorted((spec.get("hard") or {}).items())
        for error in (
            *quota_resource_name_errors(name, f"spec.hard[{name}]"),
            *amount_errors(name, amount, f"spec.hard[{name}]", whole=COUNTED),
        )
    ]
    errors += _scope_errors(spec) + _scope_selector_errors(spec)
    if old is not None and set(spec.get("scopes") or ()) != set(old["spec"].get("scopes") or ()):
        errors.append(invalid("spec.scopes", spec.get("scopes"), IMMUTABLE))
    return errors


def resource_quota_status_errors(quota: Json, old: Json | None) -> list[FieldError]:
    """Names and amounts of what is counted."""
    return [
        error
        for part in ("hard", "used")
        for name, amount in sorted((quota["status"].get(part) or {}).items())
        for error in (
            *quota_resource_name_errors(name, f"status.{part}[{name}]"),
            *amount_errors(name, amount, f"status.{part}[{name}]", whole=COUNTED),
        )
    ]


def limit_range_errors(limit_range: Json, old: Json | None) -> list[FieldError]:
    """One item for each type; a type other than Pod, Container and PersistentVolumeClaim needs a domain."""
    errors: list[FieldError] = []
    types: set[str] = set()
    for index, limit in enumerate(limit_range["spec"].get("limits") or ()):
        here, kind = f"spec.limits[{index}]", limit.get("type", "")
        wrong = faults(f"{here}.type", kind, label_key_faults(kind))
        if not wrong and "/" not in kind and kind not in _TYPES:
            wrong = [invalid(f"{here}.type", kind, "must be a standard limit type or fully qualified")]
        errors += wrong
        if kind in types:
            errors.append(duplicate(f"{here}.type", kind))
        types.add(kind)
        errors += _limit_errors(limit, kind, here)
    return errors


def _scope_errors(spec: Json) -> list[FieldError]:
    scopes, field = spec.get("scopes") or [], "spec.scopes"
    errors = []
    for scope in scopes:
        if scope not in _COUNTED_IN:
            errors.append(invalid(field, scopes, "unsupported scope"))
        errors += [invalid(field, scopes, "unsupported scope applied to resource") for _ in _uncounted(spec, scope)]
    return errors + [invalid(field, scopes, "conflicting scopes") for pair in _OPPOSITES if set(pair) <= set(scopes)]


def _scope_selector_errors(spec: Json) -> list[FieldError]:
    selector, field = spec.get("scopeSelector"), "spec.scopeSelector.matchExpressions"
    if selector is None:
        return []
    errors: list[FieldError] = []
    rules = selector.get("matchExpressions") or []
    for rule in rules:
        scope, operator, values = rule.get("scopeName", ""), rule.get("operator", ""), rule.get("values") or []
        if scope not in _COUNTED_IN:
            errors.append(invalid(f"{field}.scopeName", scope, "unsupported scope"))
        errors += [invalid(field, selector, "unsupported scope applied to resource") for _ in _uncounted(spec, scope)]
        if scope in _COUNTED_IN and scope not in _HAS_VALUES and operator != "Exists":
            errors.append(invalid(f"{field}.operator", operator, _ONLY_EXISTS))
        if operator in ("In", "NotIn"):
            if not values:
                detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(required(f"{field}.values", detail))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(invalid(f"{field}.values", values, detail))
        else:
            errors.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
    scopes = {rule.get("scopeName") for rule in rules}
    return errors + [invalid(field, spec.get("scopes"), "conflicting scopes") for pair in _OPPOSITES if set(pair) <= scopes]


def _uncounted(spec: Json, scope: str) -> Iterator[str]:
    """What the quota counts and cannot count in the scope."""
    if (counted := _COUNTED_IN.get(scope)) is not None:
        yield from (name for name in sorted(spec.get("hard") or {}) if is_quota_resource(name) and name not in counted)


def _limit_errors(limit: Json, kind: str, here: str) -> list[FieldError]:
    name_errors = container_resource_name_errors if kind in ("Pod", "Container") else resource_name_errors
    fields = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"]
    errors = []
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            fields.remove(field)
            if limit.get(field):
                errors.append(forbidden(f"{here}.{field}", "may not be specified when `type` is 'Pod'"))
    said = {field: {name: parse(amount) for name, amount in (limit.get(field) or {}).items()} for field in fields}
    for field, amounts in said.items():
        errors += [error for name in sorted(amounts) for error in name_errors(name, f"{here}.{field}[{name}]")]
    if kind == "PersistentVolumeClaim" and "storage" not in said["min"] | said["max"]:
        detail = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{here}.limits", detail))
    for name in sorted({name for amounts in said.values() for name in amounts}):
        errors += _contradictions({field: amounts[name] for field, amounts in said.items() if name in amounts}, limit, name, here)
    return errors


def _contradictions(said: dict[str, Fraction], limit: Json, name: str, here: str) -> Iterator[FieldError]:
    """What the limits of one resource say against each other."""
    texts = {field: canonical(limit[field][name]) for field in said}

    def exceeds(low: str, high: str) -> bool:
        return low in said and high in said and said[low] > said[high]

    def fault(field: str, shown: str, detail: str) -> FieldError:
        return invalid(f"{here}.{field}[{name}]", texts[shown], detail)

    def order(low: str, high: str) -> str:
        words = {"defaultRequest": "default request", "min": "min", "max": "max"}
        return f"{words[low]} value {texts[low]} is greater than {words.get(high, 'default')} value {texts[high]}"

    if exceeds("min", "max"):
        yield fault("min", "min", order("min", "max"))
    if exceeds("min", "defaultRequest"):
        yield fault("defaultRequest", "defaultRequest", order("min", "defaultRequest"))
    if exceeds("defaultRequest", "max"):
        yield fault("defaultRequest", "defaultRequest", order("defaultRequest", "max"))
    if exceeds("defaultRequest", "default"):
        detail = f"default request value {texts['defaultRequest']} is greater than default limit value {texts['default']}"
        yield fault("defaultRequest", "defaultRequest", detail)
    if exceeds("min", "default"):
        yield fault("default", "min", order("min", "default"))
    if exceeds("default", "max"):
        yield fault("default", "max", f"default value {texts['default']} is greater than max value {texts['max']}")
    ratio = said.get("maxLimitRequestRatio")
    if ratio is not None:
        if ratio < 1:
            yield fault("maxLimitRequestRatio", "maxLimitRequestRatio", f"ratio {texts['maxLimitRequestRatio']} is less than 1")
        if "min" in said and "max" in said:
            wanted, possible = _ratios(ratio, said["min"], said["max"])
            if wanted > possible:
                detail = f"ratio {texts['maxLimitRequestRatio']} is greater than max/min = {possible:f}"
                yield fault("maxLimitRequestRatio", "maxLimitRequestRatio", detail)
    if not may_overcommit(name) and "default" in said and "defaultRequest" in said and said["default"] != said["defaultRequest"]:
        detail = f"default value {texts['default']} must equal to defaultRequest value {texts['defaultRequest']} in {name}"
        yield fault("defaultRequest", "defaultRequest", detail)


def _ratios(ratio: Fraction, low: Fraction, high: Fraction) -> tuple[float, float]:
    """The ratio asked for and the one that min and max leave, in thousandths if 64 bits hold these, else in whole numbers."""
    unit = 1000 if all(ceil(value) < _MOST_MILLI for value in (ratio, low, high)) else 1
    least, most = ceil(low * unit), ceil(high * unit)
    possible = most / least if least else (inf if most else nan)
    return ceil(ratio * unit) / unit, possible
