"""A plan: everything one reconcile wants written, as a value.

Planners (pure functions in operator/ and cluster/controllers/) return a `Plan`; `shunter.kube.controllers.executor` is the
only code that carries one out. So a rule is tested by `assert plan(observed, now) == ...`, the fault sweep kills the executor
between any two writes, and the migration chains plans in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from shunter.api.meta import Json, ObjectMeta
from shunter.api.resources import Resource


class Key(NamedTuple):
    """What a work queue holds: the name of one object."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Ref(NamedTuple):
    """One object in the cluster. A write with a uid is refused by the server when the name belongs to another object by now."""

    resource: Resource
    namespace: str
    name: str
    uid: str = ""

    @classmethod
    def of(cls, resource: Resource, metadata: ObjectMeta) -> Ref:
        """The object with this metadata, and no later one of its name."""
        return cls(resource, metadata.namespace, metadata.name, metadata.uid)


class ContainerLog(NamedTuple):
    """What one container said, or what it said before it was started again."""

    namespace: str
    pod: str
    container: str
    previous: bool = False


EventType = Literal["Normal", "Warning"]


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """An event to record about `regarding`. In the message of a write's `succeeded` note `{name}` stands for the name the server
    gave (generateName), in that of its `failed` note `{error}` for the server's answer. `last_words` names a log whose last lines
    follow the message; it is read before anything is written, while its pod is still there."""

    regarding: Ref
    type: EventType
    reason: str
    message: str
    action: str = "Reconciling"
    last_words: ContainerLog | None = None


class Create(msgspec.Struct, frozen=True, kw_only=True):
    """POST `body`, or POST it to a subresource (`binding`) of the object it names. An object of that name with the same managing
    owner and the desired labels is taken for the one that was to be made; any other makes AlreadyExists a failure like others."""

    resource: Resource
    body: Json
    subresource: str = ""
    succeeded: Note | None = None
    failed: Note | None = None


class Apply(msgspec.Struct, frozen=True, kw_only=True):
    """Server-side apply of `body` with force: fields we own, and stop owning when we no longer send them."""

    resource: Resource
    body: Json
    field_manager: str
    succeeded: Note | None = None
    failed: Note | None = None


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """JSON merge patch of an object, or of a subresource such as `scale`. Missing objects are not an error."""

    ref: Ref
    patch: Json
    subresource: str = ""
    succeeded: Note | None = None
    failed: Note | None = None


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    """DELETE with a uid precondition when the ref has one. Already gone is success."""

    ref: Ref
    propagation: Literal["Background", "Foreground", "Orphan"] = "Background"
    grace_period_seconds: int | None = None
    succeeded: Note | None = None
    failed: Note | None = None


Write = Create | Apply | Patch | Delete


class StatusLogLine(NamedTuple):
    """A place in a status for one of the last lines of a log, e.g. `("failures", 0, "message")`."""

    path: tuple[str | int, ...]
    log: ContainerLog
    choose: Callable[[Sequence[str]], str]
    """Which of the lines."""


class StatusWrite(msgspec.Struct, frozen=True, kw_only=True):
    """The status desired after this reconcile. Only the difference to `observed` is sent (merge patch on /status), with the
    resourceVersion as precondition when given; equal values send nothing. `last_lines` are read before anything is written, and
    left out where they cannot be read."""

    ref: Ref
    observed: Json
    desired: Json
    resource_version: str = ""
    last_lines: tuple[StatusLogLine, ...] = ()

    @classmethod
    def over(cls, resource: Resource, metadata: ObjectMeta, observed: Json, desired: Json) -> StatusWrite:
        """Over the status of the version of the object that `metadata` is of, and of no later one."""
        version = metadata.resource_version
        return cls(ref=Ref.of(resource, metadata), observed=observed, desired=desired, resource_version=version)


FIRST_STATUS_SECONDS = 0.2
"""What a plan with `status_after` gives what it makes to start: by then ranks run that start warm."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Writes in order (neighbours of one verb and resource may run at the same time), then the status once, then events.

    `requeue_after` is in seconds; None means only an event brings this key back.
    """

    writes: tuple[Write, ...] = ()
    status: StatusWrite | None = None
    is_status_first: bool = False
    """Whether status and events come before the writes: they tell of objects that the writes delete."""
    may_status_wait: bool = False
    """Whether status and events may wait for a few seconds while other objects have nothing yet: they only tell that the writes
    were made, and a later plan tells that as well."""
    status_after: float = 0.0
    """Seconds from the writes to status and events, in which what the writes make starts, less where other objects have nothing
    yet. The object is not looked at meanwhile."""
    events: tuple[Note, ...] = ()
    requeue_after: float | None = None


NOTHING = Plan()


class Failure(NamedTuple):
    """A write the API server refused. Writes after it were not sent; neither was the plan's status."""

    write: Write | StatusWrite
    code: int
    reason: str
    message: str


Observed = TypeVar("Observed")


class Reconciler(Protocol, Generic[Observed]):
    """The three steps of every controller. `observe` is thin and reads caches only; the other two are pure."""

    def observe(self, key: Key) -> Observed | None:
        """The object and what it owns, or None when there is nothing to do for this key."""

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """What should be written, given what is."""

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """What to record (a condition, an event) when a write of the plan failed; the key is retried with back-off after it."""
