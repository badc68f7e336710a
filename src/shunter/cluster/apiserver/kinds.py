"""A kind as data: everything the generic request path needs to know about one resource.

Built-in kinds come from `builtin.kinds()`, custom ones from `crd.kinds(document)`. The request path (http, storage, patches,
watch, tables) never asks which kind it serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from shunter.api.field_errors import FieldError, new_errors
from shunter.api.meta import Json
from shunter.api.names import subdomain_faults
from shunter.api.resources import Resource
from shunter.cluster.apiserver.requests import User


class MalformedError(Exception):
    """A body that does not decode into its kind. The answer is 400 BadRequest, `KIND in version "VERSION" cannot be handled as a
    KIND: TEXT`; a custom resource's (its metadata only) says the text alone."""


class RejectedError(Exception):
    """An object that built-in admission refuses, with the answer's code and reason."""

    def __init__(self, message: str, *, code: int = 403, reason: str = "Forbidden") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


def forbidden_pod_error(pod: Json, message: str) -> RejectedError:
    """The error of admission for a pod, which it calls by its generateName, if any: names are generated after admission."""
    metadata = pod["metadata"]
    return RejectedError(f'pods "{metadata.get("generateName") or metadata.get("name", "")}" is forbidden: {message}')


class Objects(Protocol):
    """What admission may look at: the objects as they are stored now, not to be changed."""

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        """One object, or None."""

    def all(self, resource: Resource, namespace: str = "") -> Iterable[Json]:
        """Every object of one resource, of one namespace or of all."""


class Schema(Protocol):
    """A compiled schema. All paths are apimachinery's: `spec.containers[0].name`."""

    def prune(self, obj: Json, old: Json | None = None) -> list[str]:
        """Decodes in place: drops unknown fields and returns their paths (for fieldValidation=Strict and Warn). Raises
        MalformedError where the real decoder stops: wrong types in built-in kinds, or in the metadata of any kind.

        Fields whose values are the very objects of `old`, a stored version, are as they should be and left alone."""

    def default(self, obj: Json, old: Json | None = None) -> None:
        """Fills schema defaults in place; `old` as for `prune`."""

    def validate(self, obj: Json, old: Json | None) -> list[FieldError]:
        """Types, limits, enums, formats, list-map keys; then CEL rules (transition rules only when `old` is given)."""

    @property
    def openapi(self) -> Json:
        """The schema as OpenAPI v3, `$ref`s to `#/components/schemas/NAME` allowed; what /openapi/v3 and patches read."""


class Column(NamedTuple):
    """A printer column; `priority` above 0 is shown only by `-o wide`."""

    name: str
    type: str
    json_path: str
    format: str = ""
    description: str = ""
    priority: int = 0


class StoredField(NamedTuple):
    """Where a field that selectors may name is stored, where that is not its own path alone."""

    paths: tuple[str, ...]
    """The first that has a value counts."""
    absent: str = ""
    """What the field is where it has none: Go writes its zero values, `false` and `0`."""


class ScalePaths(NamedTuple):
    """Where the scale subresource reads and writes, as dotted paths."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


def value_at(document: Any, path: str) -> Any:
    """What stands at a dotted path; None where there is nothing, or nothing on the way."""
    for part in path.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def no_defaults(obj: Json) -> None:
    """Kinds whose defaults all stand in the schema."""


def no_preparation(obj: Json, old: Json | None) -> None:
    """Kinds whose strategy resets nothing on write."""


def no_user(obj: Json, user: User) -> None:
    """Kinds that do not say who made them."""


def no_admission(obj: Json, old: Json | None, objects: Objects) -> None:
    """Kinds that nothing changes or refuses on the way in."""


def no_warnings(obj: Json, old: Json | None, objects: Objects) -> list[str]:
    """Kinds that nobody is warned about."""
    return []


def no_rules(obj: Json, old: Json | None) -> list[FieldError]:
    """Kinds whose rules all stand in the schema."""
    return []


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One served resource.

    A write of the main resource runs schema.prune, schema.default, `default`, `admit`, mutating webhooks (then schema.default and
    `default` again), `prepare`, metadata's rules, `validate`, schema.validate (errors of all in one answer), validating webhooks,
    `review`, `allocate`. A write of /status runs schema.prune, schema.default, `default`, mutating webhooks, `prepare_status`,
    metadata's rules, `validate_status`, schema.validate, validating webhooks. On patches all of it runs on the patched object.
    """

    resource: Resource
    schema: Callable[[], Schema]
    """Compiled on first use and cached by its maker: start-up must not pay for kinds nobody writes."""
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    """Status is a subresource: main writes keep the stored status, status writes keep everything else."""
    scale: ScalePaths | None = None
    columns: tuple[Column, ...] = ()
    """Custom kinds: additionalPrinterColumns. Built-in kinds have row functions in printers/ instead."""
    selectable_fields: tuple[str, ...] = ()
    """Dotted paths usable in fieldSelector besides metadata.name and metadata.namespace."""
    stored_fields: Mapping[str, StoredField] = {}
    """The selectable fields that are not stored at their own path, or always have a value."""
    tracks_generation: bool = True
    """metadata.generation starts at 1 and grows when anything but metadata and status changes."""
    deprecation: str = ""
    """The warning for clients that use this version."""
    has_siblings: bool = False
    """Whether the kind is served in other versions too, so that what is stored may not fit this one."""
    created_by_update: bool = False
    """A PUT of a name that is not there creates it."""
    updates_need_revision: bool = False
    """A PUT has to name the resourceVersion that it replaces."""
    durable: bool = True
    """False for Events and Leases: kept in memory, lost with the process, as nothing relies on them."""
    graceful_deletion: bool = False
    """Pods: DELETE marks the object and the node finishes the deletion."""
    default: Callable[[Json], None] = no_defaults
    """Hand-written defaulting of a built-in kind, in place, after the schema's."""
    prepare: Callable[[Json, Json | None], None] = no_preparation
    """In place, before validation: what the strategy resets or carries over (e.g. a Job's selector and labels)."""
    made_by: Callable[[Json, User], None] = no_user
    """In place, after `prepare` of a creation: what the object says of the user who makes it."""
    validate: Callable[[Json, Json | None], list[FieldError]] = no_rules
    """Hand-written rules beside those of metadata, which every kind has; `old` is None on create. uid and name are set."""
    name_faults: Callable[[str], list[str]] = subdomain_faults
    """What is wrong with a name of this kind, also with the start of a generated one."""
    warnings: Callable[[Json, Json | None, Objects], list[str]] = no_warnings
    """Texts for Warning headers of a successful write."""
    grants: Literal["", "rules", "role"] = ""
    """What rights a write of it gives away: those of its rules, or of the role that it refers to."""
    default_propagation: Literal["Background", "Orphan"] = "Background"
    """What a DELETE without propagationPolicy does with dependents; Jobs and ReplicationControllers leave their pods behind."""
    returns_deleted: bool = False
    """Whether the DELETE of an object that is gone at once answers with the object instead of a Status."""
    admit: Callable[[Json, Json | None, Objects], None] = no_admission
    """Built-in mutating admission in place (a pod's priority, a service's address); raises RejectedError."""
    review: Callable[[Json, Json | None, Objects], None] = no_admission
    """Built-in validating admission, after every validation; changes nothing, raises RejectedError."""
    allocate: Callable[[Json, Json | None, Objects], None] = no_admission
    """Called after `review`: rejects a write that would take what only one object may have. Not called in a dry run, which takes
    nothing."""
    prepare_status: Callable[[Json, Json | None], None] = no_preparation
    """In place, before a status write is validated; spec is the stored one by then."""
    validate_status: Callable[[Json, Json | None], list[FieldError]] = no_rules
    """Hand-written rules of a status write; `old` is never None."""

    def rule_errors(self, document: Json, old: Json | None, *, status: bool = False) -> list[FieldError]:
        """What the hand-written rules find; of an update only what the object did not have already. So one that was stored before
        there was a rule can be changed, and its deletion goes on."""
        rules = self.validate_status if status else self.validate
        errors = rules(document, old)
        return new_errors(errors, rules(old, old)) if errors and old is not None else errors
