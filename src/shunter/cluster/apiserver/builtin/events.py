"""Events, served under two groups. The core form is stored; `event_versions` turns one into the other.

Source: k8s.io/kubernetes 1.36 `apis/core/validation/events.go`, `registry/core/event`.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, invalid, required
from shunter.api.meta import Json
from shunter.api.names import label_key_faults
from shunter.api.resources import CORE_EVENTS, EVENTS
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.event_versions import to_core
from shunter.cluster.apiserver.field_rules import changed, faults
from shunter.cluster.apiserver.kinds import Kind, StoredField

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
_SELECTABLE_NEW = {
    **{path.replace("involvedObject", "regarding"): path for path in _SELECTABLE if path.startswith("involvedObject.")},
    "reason": "reason",
    "reportingController": "reportingComponent",
    "type": "type",
}
"""Of events.k8s.io, with the core paths."""
# In bytes, though the server says "characters".
_TEXT_LIMITS = (("reportingInstance", 128), ("action", 128), ("reason", 128))
_NOTE_LIMIT = 1024
_FROZEN = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


def kinds() -> list[Kind]:
    """The core kind and that of `events.k8s.io`, which has stricter rules. Both are kept in memory only, and a PUT creates what
    is not there."""
    return [
        typed(
            CORE_EVENTS,
            short_names=("ev",),
            durable=False,
            created_by_update=True,
            tracks_generation=False,
            selectable_fields=_SELECTABLE,
            stored_fields={"source": StoredField(("source.component", "reportingComponent"))},
            validate=_core_errors,
        ),
        typed(
            EVENTS,
            short_names=("ev",),
            durable=False,
            created_by_update=True,
            tracks_generation=False,
            selectable_fields=tuple(_SELECTABLE_NEW),
            stored_fields={name: StoredField((path,)) for name, path in _SELECTABLE_NEW.items()},
            validate=_errors,
        ),
    ]


def _core_errors(event: Json, old: Json | None) -> list[FieldError]:
    return _legacy_errors(event, "reportingComponent")


def _errors(event: Json, old: Json | None) -> list[FieldError]:
    """Events of the new group have more rules; the errors still name the fields of the core form."""
    core = to_core(event)
    errors = _legacy_errors(core, "reportingController")
    if old is not None:
        before = to_core(old)
        if core.get("series") != before.get("series"):
            errors += _series_errors(core)
        return errors + [error for name in _FROZEN for error in changed(_shown(name), core.get(name), before.get(name))]
    errors += _series_errors(core)
    if not core.get("eventTime"):
        errors.append(required("eventTime"))
    if core.get("type", "") not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {core.get('type', '')}"))
    unset = [name for name in ("firstTimestamp", "lastTimestamp", "count", "source") if core.get(name)]
    return errors + [invalid(name, "", "needs to be unset") for name in unset]


def _shown(name: str) -> str:
    return "reportingController" if name == "reportingComponent" else name


def _series_errors(event: Json) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    errors = [invalid("series.count", "", "should be at least 2")] if series.get("count", 0) < 2 else []
    return errors if series.get("lastObservedTime") else [*errors, required("series.lastObservedTime")]


def _legacy_errors(event: Json, controller_field: str) -> list[FieldError]:
    namespace, about = event["metadata"].get("namespace", ""), event["involvedObject"].get("namespace", "")
    mismatch = [invalid("involvedObject.namespace", about, "does not match event.namespace")]
    if not event.get("eventTime"):
        return [] if about == namespace or (not about and namespace == "default") else mismatch
    errors = mismatch if not about and namespace not in ("default", "kube-system") else []
    controller = event.get("reportingComponent", "")
    if not controller:
        errors.append(required(controller_field))
    errors += faults(controller_field, controller, label_key_faults(controller))
    for name, limit in _TEXT_LIMITS:
        value = event.get(name, "")
        if not value:
            errors.append(required(name))
        elif len(value.encode()) > limit:
            errors.append(invalid(name, "", f"can have at most {limit} characters"))
    if len(event.get("message", "").encode()) > _NOTE_LIMIT:
        errors.append(invalid("message", "", f"can have at most {_NOTE_LIMIT} characters"))
    return errors
