"""A kind as data: everything the generic request path needs to know about one resource.

Built-in kinds come from `builtin.kinds()`, custom ones from `crd.kinds(definition)`. The request path (http, storage, patches,
watch, tables) never asks which kind it serves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json
from shunter.api.resources import Resource


class Schema(Protocol):
    """A compiled structural schema. All paths are apimachinery's: `spec.containers[0].name`."""

    def prune(self, obj: Json) -> list[str]:
        """Drops unknown fields in place and returns their paths (for fieldValidation=Strict and Warn)."""

    def default(self, obj: Json) -> None:
        """Fills schema defaults in place."""

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


class ScalePaths(NamedTuple):
    """Where the scale subresource reads and writes, as dotted paths."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


def no_defaults(obj: Json) -> None:
    """Kinds whose defaults all stand in the schema."""


def no_preparation(obj: Json, old: Json | None) -> None:
    """Kinds whose strategy resets nothing on write."""


def no_rules(obj: Json, old: Json | None) -> list[FieldError]:
    """Kinds whose rules all stand in the schema."""
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One served resource. Functions run in the order schema.prune, schema.default, `default`, admission, `validate`."""

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
    """Custom kinds: additionalPrinterColumns. Built-in kinds have row functions in tables.py instead."""
    selectable_fields: tuple[str, ...] = ()
    """Dotted paths usable in fieldSelector besides metadata.name and metadata.namespace."""
    tracks_generation: bool = True
    """metadata.generation starts at 1 and grows when anything but metadata and status changes."""
    durable: bool = True
    """False for Events and Leases: kept in memory, lost with the process, as nothing relies on them."""
    graceful_deletion: bool = False
    """Pods: DELETE marks the object and the node finishes the deletion."""
    default: Callable[[Json], None] = no_defaults
    """Hand-written defaulting of a built-in kind, in place, after the schema's."""
    prepare: Callable[[Json, Json | None], None] = no_preparation
    """In place, before validation: what the strategy resets or carries over (e.g. a Job's selector and labels)."""
    validate: Callable[[Json, Json | None], list[FieldError]] = no_rules
    """Hand-written rules of a built-in kind; `old` is None on create."""
