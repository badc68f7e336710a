"""PriorityClass: pods take their priority from it, so its value never changes.

Source: k8s.io/kubernetes 1.36 `apis/scheduling`, admission plugin Priority.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, forbidden
from shunter.api.meta import Json
from shunter.api.resources import PRIORITY_CLASSES
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import changed, one_of
from shunter.cluster.apiserver.kinds import Kind, Objects, RejectedError

_CLUSTER_CRITICAL = "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
SYSTEM_CLASSES: tuple[Json, ...] = (
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "system-cluster-critical"},
        "value": 2_000_000_000,
        "description": _CLUSTER_CRITICAL,
        "preemptionPolicy": "PreemptLowerPriority",
    },
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "system-node-critical"},
        "value": 2_000_001_000,
        "description": "Used for system critical pods that must not be moved from their current node.",
        "preemptionPolicy": "PreemptLowerPriority",
    },
)
"""The classes that every cluster has; the server creates them at start."""

_HIGHEST = 1_000_000_000
_SYSTEM_VALUES = {item["metadata"]["name"]: item["value"] for item in SYSTEM_CLASSES}


def kind() -> Kind:
    """`review` refuses a second `globalDefault`. Names that begin with `system-` are for the classes in `SYSTEM_CLASSES`."""
    return typed(
        PRIORITY_CLASSES,
        short_names=("pc",),
        tracks_generation=False,
        default=_default,
        prepare=_prepare,
        validate=_validate,
        review=_review,
    )


def _default(priority_class: Json) -> None:
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _prepare(priority_class: Json, old: Json | None) -> None:
    """The generation stays at 1."""
    if old is None:
        priority_class["metadata"]["generation"] = 1


def _validate(priority_class: Json, old: Json | None) -> list[FieldError]:
    value, policy = priority_class.get("value", 0), priority_class.get("preemptionPolicy", "")
    if old is not None:
        errors = [forbidden("value", "may not be changed in an update.")] if value != old.get("value", 0) else []
        return errors + changed("preemptionPolicy", policy, old.get("preemptionPolicy", ""))
    name = priority_class["metadata"].get("name", "")
    errors = []
    if name.startswith("system-"):
        fault = _system_fault(name, value, priority_class.get("globalDefault", False))
        if fault:
            detail = f"priority class names with 'system-' prefix are reserved for system use only. error: {fault}"
            errors.append(forbidden("metadata.name", detail))
    elif value > _HIGHEST:
        errors.append(forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}"))
    return errors + one_of("preemptionPolicy", policy, ["PreemptLowerPriority", "Never"])


def _system_fault(name: str, value: int, is_default: bool) -> str:
    if name not in _SYSTEM_VALUES:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM_VALUES[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM_VALUES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def _review(priority_class: Json, old: Json | None, objects: Objects) -> None:
    if not priority_class.get("globalDefault"):
        return
    name = priority_class["metadata"]["name"]
    for other in objects.all(PRIORITY_CLASSES):
        if other.get("globalDefault") and other["metadata"]["name"] != name:
            raise RejectedError(
                f'priorityclasses.scheduling.k8s.io "{name}" is forbidden: PriorityClass {other["metadata"]["name"]} is already '
                "marked as default. Only one default can exist"
            )
