"""Events, served under two groups. The core form is stored; `event_versions` turns one into the other.

Source: k8s.io/kubernetes 1.36 `apis/core/validation/events.go`, `registry/core/event`.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, invalid, required
from shunter.api.meta import Json
from shunter.api.names import label_key_faults
from shunter.api.resources import CORE_EVENTS, EVENTS
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import changed
from shunter.cluster.apiserver.kinds import Kind

_SELECTABLE = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)
_CLUSTER_NAMESPACES = ("default", "kube-system")
_NOTE_LIMIT = 1024
_REASON_LIMIT = 128


def kinds() -> list[Kind]:
    return [
        typed(
            CORE_EVENTS,
            short_names=("ev",),
            durable=False,
            tracks_generation=False,
            selectable_fields=_SELECTABLE,
            validate=_core_errors,
        ),
        typed(
            EVENTS,
            short_names=("ev",),
            durable=False,
            tracks_generation=False,
            selectable_fields=_SELECTABLE,
            validate=_errors,
        ),
    ]


def _core_errors(event: Json, old: Json | None) -> list[FieldError]:
    namespace = event["metadata"].get("namespace", "")
    about = event["involvedObject"].get("namespace", "")
    if about != namespace and not (not about and namespace in _CLUSTER_NAMESPACES):
        return [invalid("involvedObject.namespace", about, "does not match event.namespace")]
    return []


def _errors(event: Json, old: Json | None) -> list[FieldError]:
    namespace, about = event["metadata"].get("namespace", ""), event["regarding"].get("namespace", "")
    errors: list[FieldError] = []
    if about != namespace and not (not about and namespace in _CLUSTER_NAMESPACES):
        errors.append(invalid("regarding.namespace", about, "does not match event.namespace"))
    if old is not None:
        return errors + _update_errors(event, old)
    if event.get("eventTime") is None:
        errors.append(required("eventTime"))
    controller = event.get("reportingController", "")
    if not controller:
        errors.append(required("reportingController"))
    errors += [invalid("reportingController", controller, fault) for fault in label_key_faults(controller)]
    for name in ("reportingInstance", "action", "reason"):
        value = event.get(name, "")
        if not value:
            errors.append(required(name))
        elif len(value) > _REASON_LIMIT:
            errors.append(invalid(name, value, f"can have at most {_REASON_LIMIT} characters"))
    if event.get("type", "") not in ("Normal", "Warning"):
        errors.append(invalid("type", event.get("type", ""), "has invalid value: " + event.get("type", "")))
    if len(event.get("note", "")) > _NOTE_LIMIT:
        errors.append(invalid("note", event["note"], f"can have at most {_NOTE_LIMIT} characters"))
    return errors


def _update_errors(event: Json, old: Json) -> list[FieldError]:
    """An event of the new group never changes but for its series."""
    errors: list[FieldError] = []
    for name in ("regarding", "reason", "note", "type", "action", "related", "reportingController", "reportingInstance"):
        errors += changed(name, event.get(name), old.get(name))
    return errors
