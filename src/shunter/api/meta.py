"""What every Kubernetes object has: metadata, owners, conditions, times.

Structs are immutable views: decoding drops fields we do not know, so an object is never written back from one. Writes are plain
JSON (`Json`), built by the pure functions of operator/ and cluster/controllers/.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

Json: TypeAlias = dict[str, Any]
"""A JSON object as plain Python values; pod templates and desired objects are passed around in this form."""
EPOCH = datetime.fromtimestamp(0, UTC)
"""Stands for a time that is not known where times are compared."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which `kubectl apply` keeps the object as it was applied: as JSON, with its secrets."""


def without_nulls(value: Any) -> Any:
    """A JSON value without the fields that are null, which in Kubernetes' types means what absent means."""
    if isinstance(value, dict):
        return {name: without_nulls(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [without_nulls(part) for part in value]
    return value


class Struct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """Base of all API types: immutable, camelCase on the wire, defaults left out when encoded."""


def as_json(value: Any) -> Json:
    """The plain values that JSON carries of a struct or an object: names as on the wire, defaults of a struct left out, dates as
    text; nothing of it is shared with the value. Much faster than a deep copy."""
    plain: Json = msgspec.json.decode(msgspec.json.encode(value))
    return plain


class OwnerReference(Struct, frozen=True):
    """The owner is known by its `uid`: another object of its name is none. At most one reference of an object is that of its
    `controller`; `block_owner_deletion` holds up a foreground deletion of the owner."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Struct, frozen=True):
    """Without `managedFields`. `resource_version` is opaque text; `generation` counts changes of the spec, not of the status; an
    empty `namespace` is that of a cluster-wide object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages this object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)

    @property
    def deletion_requested(self) -> datetime | None:
        """When the deletion was asked for: the deletionTimestamp is when the grace period is over."""
        if self.deletion_timestamp is None:
            return None
        return self.deletion_timestamp - grace_period(self.deletion_grace_period_seconds or 0)

    def is_controlled_by(self, uid: str) -> bool:
        """Whether the object with this uid manages this one."""
        owner = self.controller
        return owner is not None and owner.uid == uid


class MetadataOnly(Struct, frozen=True):
    """An object of any kind, for who needs no more of it than its metadata."""

    metadata: ObjectMeta


class HasType(Protocol):
    """A condition of any list."""

    @property
    def type(self) -> str:
        """Unique among the conditions of an object: `Ready`, `Complete`."""


class HasStatus(HasType, Protocol):
    """A condition that tells whether it is True."""

    @property
    def is_true(self) -> bool:
        """Whether the status is True: neither False nor Unknown."""


C = TypeVar("C", bound=HasType)
CheckedCondition = TypeVar("CheckedCondition", bound=HasStatus)


class Condition(Struct, frozen=True):
    """metav1.Condition; also decodes the condition lists of Jobs and pods, which have fewer required fields."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int | None = None

    @property
    def is_true(self) -> bool:
        """Whether the status is True: neither False nor Unknown."""
        return self.status == "True"


def condition_of(conditions: Iterable[C], type: str) -> C | None:
    """The condition of this type; None where there is none."""
    return next((condition for condition in conditions if condition.type == type), None)


def true_condition(conditions: Iterable[CheckedCondition], type: str) -> CheckedCondition | None:
    """The condition of this type if its status is True."""
    return next((condition for condition in conditions if condition.type == type and condition.is_true), None)


def stored_condition(obj: Json, type: str) -> Json:
    """The condition of this type in an object's status; empty where there is none."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    found: Json = next((condition for condition in conditions if condition.get("type") == type), {})
    return found


def condition_json(condition: Condition) -> Json:
    """A condition as it is written into a status: all of the required fields, the optional ones if they are set."""
    written: Json = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }
    if condition.last_transition_time is not None:
        written["lastTransitionTime"] = rfc3339(condition.last_transition_time)
    if condition.observed_generation is not None:
        written["observedGeneration"] = condition.observed_generation
    return written


def annotations_of(obj: Json) -> dict[str, str]:
    """The annotations of an object; empty if it has none, or null, or no metadata."""
    return (obj.get("metadata") or {}).get("annotations") or {}


def grace_period(seconds: int) -> timedelta:
    """The duration as Go computes it, in 64-bit nanoseconds: it wraps around beyond 292 years, so the deletionTimestamp of such a
    pod is wrong, as on a real API server."""
    nanoseconds = (seconds * 10**9 + 2**63) % 2**64 - 2**63
    return timedelta(microseconds=nanoseconds // 1000)


def stamp(now: datetime, before: Iterable[datetime | None]) -> datetime:
    """The time to write into a status: now in whole seconds, as the server keeps times, but not before what it says already. A
    clock may be set back."""
    return max([now.replace(microsecond=0), *filter(None, before)])


def rfc3339(moment: datetime) -> str:
    """`metav1.Time` on the wire: UTC, whole seconds, `2026-11-21T10:00:00Z`."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def rfc3339_micro(moment: datetime) -> str:
    """`metav1.MicroTime` on the wire: UTC, microseconds, `2026-11-21T10:00:00.000000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def controller_reference(api_version: str, kind: str, name: str, uid: str) -> Json:
    """The owner reference that marks an object as managed by its owner and blocks the owner's foreground deletion."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
