"""Rules for the metrics and the behavior of a HorizontalPodAutoscaler.

Source: k8s.io/kubernetes 1.36 `apis/autoscaling/validation`. Of metrics that this cluster does not serve (Pods, Object, External)
only that they are there is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from shunter.api.formats.quantity import parse
from shunter.api.meta import Json

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_TARGETS = ("Utilization", "Value", "AverageValue")
_LONGEST_PERIOD = 1800
_LONGEST_WINDOW = 3600


def metric_errors(metrics: Sequence[Json], field: str) -> list[FieldError]:
    """Each metric has a type, and the source of that type alone."""
    return [error for index, metric in enumerate(metrics) for error in _metric_errors(metric, f"{field}[{index}]")]


def _metric_errors(metric: Json, field: str) -> list[FieldError]:
    kind = metric.get("type", "")
    errors = [] if kind else [required(f"{field}.type", "must specify a metric source type")]
    if kind not in _SOURCES:
        return [*errors, not_supported(f"{field}.type", kind, list(_SOURCES))]
    expected = _SOURCES[kind]
    present = [name for name in _SOURCES.values() if name in metric]
    if expected not in present:
        errors.append(required(f"{field}.{expected}", "must populate information for the given metric source"))
    if len(present) > 1:
        others = [name for name in present if name != expected]
        errors += [forbidden(f"{field}.{name}", "must populate the given metric source only") for name in others]
    if expected in ("resource", "containerResource") and expected in metric:
        errors += _resource_errors(metric[expected], f"{field}.{expected}", in_container=expected == "containerResource")
    return errors


def _resource_errors(source: Json, field: str, *, in_container: bool) -> list[FieldError]:
    errors = [] if source.get("name") else [required(f"{field}.name", "must specify a resource name")]
    if in_container and not source.get("container"):
        errors.append(required(f"{field}.container", "must specify a container"))
    target, here = source["target"], f"{field}.target"
    errors += _target_errors(target, here)
    has_utilization, has_average = "averageUtilization" in target, "averageValue" in target
    if not has_utilization and not has_average:
        detail = "must set either a target raw value or a target utilization"
        errors.append(required(f"{here}.averageUtilization", detail))
    if has_utilization and has_average:
        detail = "may not set both a target raw value and a target utilization"
        errors.append(forbidden(f"{here}.averageValue", detail))
    return errors


def _target_errors(target: Json, field: str) -> list[FieldError]:
    kind = target.get("type", "")
    errors = [] if kind else [required(f"{field}.type", "must specify a metric target type")]
    if kind not in _TARGETS:
        errors.append(invalid(f"{field}.type", kind, "must be either Utilization, Value, or AverageValue"))
    amounts = {name: target[name] for name in ("value", "averageValue") if name in target}
    errors += [invalid(f"{field}.{name}", value, "must be positive") for name, value in amounts.items() if parse(value) <= 0]
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(invalid(f"{field}.averageUtilization", utilization, "must be greater than 0"))
    return errors


def behavior_errors(behavior: Json, field: str) -> list[FieldError]:
    """The errors of both directions, if they are set."""
    return [error for name in ("scaleUp", "scaleDown") for error in _direction_errors(behavior.get(name, {}), f"{field}.{name}")]


def _direction_errors(rules: Json, field: str) -> list[FieldError]:
    if not rules:
        return []
    errors = _bounded(f"{field}.stabilizationWindowSeconds", rules.get("stabilizationWindowSeconds", 0), 0, _LONGEST_WINDOW)
    choice = rules.get("selectPolicy", "")
    if choice not in ("Disabled", "Max", "Min"):
        errors.append(not_supported(f"{field}.selectPolicy", choice, ["Disabled", "Max", "Min"]))
    policies = rules.get("policies") or []
    if not policies:
        errors.append(required(f"{field}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(policies):
        here = f"{field}.policies[{index}]"
        if policy.get("type", "") not in ("Percent", "Pods"):
            errors.append(not_supported(f"{here}.type", policy.get("type", ""), ["Percent", "Pods"]))
        if policy.get("value", 0) <= 0:
            errors.append(invalid(f"{here}.value", policy.get("value", 0), "must be greater than zero"))
        errors += _bounded(f"{here}.periodSeconds", policy.get("periodSeconds", 0), 1, _LONGEST_PERIOD)
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse(tolerance) < 0:
        errors.append(invalid(f"{field}.tolerance", tolerance, "must be greater than or equal to 0"))
    return errors


def _bounded(field: str, seconds: int, least: int, most: int) -> list[FieldError]:
    if seconds < least:
        return [invalid(field, seconds, "must be greater than zero" if least else "must be greater than or equal to zero")]
    return [invalid(field, seconds, f"must be less than or equal to {most}")] if seconds > most else []
