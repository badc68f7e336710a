"""Requests and limits of a pod as a whole, and that they hold those of its containers.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`.
"""

from __future__ import annotations

import msgspec

from shunter.api.field_errors import FieldError, forbidden, invalid, not_supported
from shunter.api.formats.quantity import canonical, format_milli, is_binary, parse
from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import PodRequests, requested_by_containers
from shunter.cluster.apiserver.builtin.pod.container_rules import resource_errors
from shunter.cluster.apiserver.builtin.rules.resources import resource_name_errors

_SUPPORTED = ["cpu", "hugepages-", "memory"]


def pod_level_resource_errors(spec: Json, claims: set[str], field: str) -> list[FieldError]:
    """The `resources` of a pod spec."""
    resources = spec["resources"]
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(field, "may not be set for a windows pod")]
    errors: list[FieldError] = []
    if "claims" in resources:
        errors.append(forbidden(f"{field}.claims", "claims may not be set for Resources at pod-level"))
    errors += resource_errors(resources, claims, field, name_errors=_name_errors)
    return errors + _request_errors(spec, f"{field}.requests") + _limit_errors(spec, field)


def _name_errors(name: str, field: str) -> list[FieldError]:
    errors = resource_name_errors(name, field)
    if errors or name in ("cpu", "memory") or name.startswith("hugepages-"):
        return errors
    return [not_supported(field, name, _SUPPORTED)]


def _request_errors(spec: Json, field: str) -> list[FieldError]:
    """The pod requests at least what its containers do together."""
    whole = spec["resources"].get("requests") or {}
    errors = []
    for name, amount in requested_by_containers(msgspec.convert(spec, PodRequests)).items():
        if name in whole and amount > parse(whole[name]):
            shown = format_milli(amount, binary=is_binary(whole[name]))
            detail = f"must be greater than or equal to aggregate container requests of {shown}"
            errors.append(invalid(f"{field}[{name}]", canonical(whole[name]), detail))
    return errors


def _limit_errors(spec: Json, field: str) -> list[FieldError]:
    """No container may use more than the pod."""
    whole = spec["resources"].get("limits") or {}
    return [
        invalid(
            f"{field}.containers[{index}][{name}].limits",
            canonical(limit),
            f"must be less than or equal to pod limits of {canonical(whole[name])}",
        )
        for index, container in enumerate(spec.get("containers") or ())
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items()
        if name in whole and parse(limit) > parse(whole[name])
    ]
