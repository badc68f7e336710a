"""HorizontalPodAutoscaler: kept and defaulted; jobs that scale elastically create one.

Source: k8s.io/kubernetes 1.36 `apis/autoscaling/v2` defaults, `apis/autoscaling/validation`.
"""

from __future__ import annotations

from typing import Any

from shunter.api.field_errors import FieldError, forbidden, invalid, required
from shunter.api.meta import Json
from shunter.api.resources import HORIZONTAL_POD_AUTOSCALERS
from shunter.cluster.apiserver.builtin.rules.autoscalers import behavior_errors, metric_errors
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import negative
from shunter.cluster.apiserver.kinds import Kind

_CPU_TARGET = 80


def kind() -> Kind:
    """The HorizontalPodAutoscaler of `autoscaling/v2`. One without metrics aims at 80% of the CPU that is requested."""
    return typed(
        HORIZONTAL_POD_AUTOSCALERS,
        short_names=("hpa",),
        categories=("all",),
        has_status=True,
        tracks_generation=False,
        default=_default,
        validate=_validate,
        validate_status=_status_errors,
    )


def _default(autoscaler: Json) -> None:
    spec = autoscaler["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _CPU_TARGET}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if (behavior := spec.get("behavior")) is not None:
        behavior["scaleUp"] = {**_scale_up(), **behavior.get("scaleUp", {})}
        behavior["scaleDown"] = {**_scale_down(), **behavior.get("scaleDown", {})}


def _scale_up() -> dict[str, Any]:
    return {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    }


def _scale_down() -> dict[str, Any]:
    return {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}


def _status_errors(autoscaler: Json, old: Json | None) -> list[FieldError]:
    status = autoscaler["status"]
    return [error for name in ("currentReplicas", "desiredReplicas") for error in negative(f"status.{name}", status.get(name))]


def _validate(autoscaler: Json, old: Json | None) -> list[FieldError]:
    spec = autoscaler["spec"]
    low, high = spec["minReplicas"], spec.get("maxReplicas", 0)
    scales_to_zero = any(metric.get("type") in ("Object", "External") for metric in spec["metrics"])
    least = 0 if scales_to_zero else 1
    errors: list[FieldError] = []
    if low < least:
        errors.append(invalid("spec.minReplicas", low, f"must be greater than or equal to {least}"))
    if high == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif high < 0:
        errors.append(invalid("spec.maxReplicas", high, "must be greater than or equal to 1"))
    if high < low:
        errors.append(invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
    target = spec["scaleTargetRef"]
    for name in ("kind", "name"):
        if not target.get(name):
            errors.append(required(f"spec.scaleTargetRef.{name}"))
        elif "/" in target[name]:
            errors.append(invalid(f"spec.scaleTargetRef.{name}", target[name], "may not contain '/'"))
    version = target.get("apiVersion", "")
    if "/" not in version:
        errors.append(invalid("spec.scaleTargetRef.apiVersion", version, "apiVersion must specify API group"))
    if low == 0 and not scales_to_zero:
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", detail))
    errors += metric_errors(spec["metrics"], "spec.metrics")
    return errors + behavior_errors(spec.get("behavior", {}), "spec.behavior")
