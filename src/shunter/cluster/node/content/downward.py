"""The downward API: fields of a pod and resources of its containers as text. Pure.

Source: kubelet 1.36 `fieldpath` and `resource.ExtractContainerResourceValue`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from shunter.api.formats import quantity
from shunter.api.formats.go_values import go_quoted
from shunter.api.meta import Json

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class PodContext(NamedTuple):
    """What only the node knows about a pod: its addresses, and what the machine has (cores, bytes) where no limit is set."""

    pod_ip: str
    host_ip: str
    allocatable: Mapping[str, Fraction]


def field_value(path: str, pod: Json, context: PodContext) -> str:
    """The text of a `fieldRef`. Raises ValueError for a path that Kubernetes does not offer."""
    metadata, spec = pod["metadata"], pod["spec"]
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(metadata.get(path.removeprefix("metadata."), ""))
        case "metadata.labels" | "metadata.annotations":
            return _formatted(metadata.get(path.removeprefix("metadata.")) or {})
        case "spec.nodeName":
            return str(spec.get("nodeName", ""))
        case "spec.serviceAccountName":
            return str(spec.get("serviceAccountName", ""))
        case "status.podIP" | "status.podIPs":
            return context.pod_ip
        case "status.hostIP" | "status.hostIPs":
            return context.host_ip
    if subscript := _SUBSCRIPT.fullmatch(path):
        return str((metadata.get(subscript[1]) or {}).get(subscript[2], ""))
    raise ValueError(f"unsupported fieldPath: {path}")


def named_container(pod: Json, name: str) -> Json:
    """The container that a `resourceFieldRef` names. Raises ValueError."""
    for container in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
        if container["name"] == name:
            found: Json = container
            return found
    raise ValueError(f"container {name} not found")


def resource_value(reference: Json, container: Json, context: PodContext) -> str:
    """The text of a `resourceFieldRef` such as `limits.memory`. A limit that is not set is what the machine has."""
    kind, _, name = reference["resource"].partition(".")
    divisor = quantity.parse(reference.get("divisor") or 1) or Fraction(1)
    declared = (container.get("resources", {}).get(kind) or {}).get(name)
    if declared is not None:
        return _in_units_of(quantity.parse(declared), divisor)
    if kind == "limits":
        return _in_units_of(context.allocatable.get(name, Fraction(0)), divisor)
    return "0"


def _formatted(values: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={go_quoted(value)}" for key, value in sorted(values.items()))


def _in_units_of(value: Fraction, divisor: Fraction) -> str:
    """How the downward API writes a quantity: whole multiples of the divisor, rounded up."""
    return str(math.ceil(value / divisor))
