"""What Nodes, RuntimeClasses and Leases may say.

Source: k8s.io/kubernetes 1.36 `apis/core`, `apis/node` and `apis/coordination`: defaults, conversion and validation.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required
from shunter.api.formats import cidr
from shunter.api.meta import Json
from shunter.api.names import label_faults, label_key_faults, label_value_faults
from shunter.cluster.apiserver.builtin.pod.gated_fields import drop_gated_fields
from shunter.cluster.apiserver.builtin.pod.rules import toleration_errors
from shunter.cluster.apiserver.builtin.rules.resources import amount_errors, container_resource_name_errors
from shunter.cluster.apiserver.field_rules import changed, faults, label_errors, negative, unsupported
from shunter.cluster.apiserver.kinds import Objects

_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
_NO_GATES = ("preferredHolder", "strategy")
"""Fields of a Lease that a server drops unless a feature gate is on, which is off by default."""


def default_node(node: Json) -> None:
    """In place: `podCIDRs` becomes `podCIDR` alone where it does not begin with that, an absent `podCIDR` its first; an absent
    `status.allocatable` the capacity."""
    spec = node["spec"]
    first, blocks = spec.get("podCIDR"), spec.get("podCIDRs") or []
    if first and blocks[:1] != [first]:
        spec["podCIDRs"] = [first]
    elif blocks:
        spec["podCIDR"] = blocks[0]
    status = node.get("status") or {}
    if status.get("capacity") and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])


def prepare_node(node: Json, old: Json | None) -> None:
    """Drops a new `configSource`, which no kubelet reads any more."""
    drop_gated_fields(node["spec"], old and old["spec"], "configSource")


def node_warnings(node: Json, old: Json | None, objects: Objects) -> list[str]:
    """About fields that are there for old clients."""
    found = ["spec.configSource: the feature is removed"] if "configSource" in node["spec"] else []
    if node["spec"].get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    return found


def node_errors(node: Json, old: Json | None) -> list[FieldError]:
    """Taints, and at most one CIDR of each IP family. `podCIDRs` and `providerID` never change once they are set."""
    spec = node["spec"]
    errors = _taint_errors(spec.get("taints") or [])
    blocks = spec.get("podCIDRs") or []
    for index, text in enumerate(blocks):
        errors += faults(f"spec.podCIDRs[{index}]", text, cidr.faults(text))
    families = [block.version for text in blocks if (block := cidr.block(text)) is not None]
    if len(families) == len(blocks) and len(set(families)) != len(families):
        errors.append(invalid("spec.podCIDRs", blocks, "may specify no more than one CIDR for each IP family"))
    if old is not None:
        before = old["spec"]
        for name, shown in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
            if before.get(name) and spec.get(name) != before[name]:
                errors.append(forbidden(f"spec.{name}", f'node updates may not change {shown} except from "" to valid'))
        if spec.get("externalID") and spec["externalID"] != before.get("externalID"):
            errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def node_status_errors(node: Json, old: Json | None) -> list[FieldError]:
    """No address stands there twice."""
    addresses = node["status"].get("addresses") or []
    return [
        duplicate(f"status.addresses[{index}]", {"Type": one.get("type", ""), "Address": one.get("address", "")})
        for index, one in enumerate(addresses)
        if one in addresses[:index]
    ]


def runtime_class_errors(runtime_class: Json, old: Json | None) -> list[FieldError]:
    """On an update nothing is checked but that the handler is the same. Faults of `overhead.podFixed` are told of
    `overhead.limits`."""
    handler = runtime_class.get("handler") or ""
    if old is not None:
        return changed("handler", handler, old.get("handler") or "")
    errors = faults("handler", handler, label_faults(handler)) if handler else [required("handler")]
    for name, amount in ((runtime_class.get("overhead") or {}).get("podFixed") or {}).items():
        field = f"overhead.limits[{name}]"
        errors += container_resource_name_errors(name, field) + amount_errors(name, amount, field)
    scheduling = runtime_class.get("scheduling") or {}
    errors += label_errors(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    return errors + toleration_errors(scheduling.get("tolerations") or [], "scheduling.tolerations")


def prepare_lease(lease: Json, old: Json | None) -> None:
    """Drops `preferredHolder` and `strategy` where they are new: their feature gate is off by default."""
    drop_gated_fields(lease["spec"], old and old["spec"], *_NO_GATES)


def lease_errors(lease: Json, old: Json | None) -> list[FieldError]:
    """A duration of at least 1 second, and transitions not below 0, where they are given. Every field may change."""
    spec = lease["spec"]
    seconds = spec.get("leaseDurationSeconds")
    errors = [] if seconds is None or seconds > 0 else [invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")]
    return errors + negative("spec.leaseTransitions", spec.get("leaseTransitions"))


def _taint_errors(taints: list[Json]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        here = f"metadata.taints[{index}]"
        key, value, effect = (taint.get(name) or "" for name in ("key", "value", "effect"))
        errors += faults(f"{here}.key", key, label_key_faults(key)) + faults(f"{here}.value", value, label_value_faults(value))
        if not effect:
            errors.append(required(f"{here}.effect"))
        elif effect not in _EFFECTS:
            errors.append(unsupported(f"{here}.effect", effect, _EFFECTS))
        if (key, effect) in seen:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            error = duplicate(here, shown)
            errors.append(error._replace(body=f"{error.body}: taints must be unique by key and effect pair"))
        seen.add((key, effect))
    return errors
