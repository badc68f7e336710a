"""What the API server's schema of a kind says: whether it has a field (what is not ours differs from release to release), and
which name was probably meant by an unknown one.

Read from /openapi/v3, which everybody who is authenticated may read (ClusterRole system:discovery).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.did_you_mean import nearest
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, ConnectionProblem

_REFERENCE = "#/components/schemas/"


async def is_field_served(client: Client, resource: Resource, path: Sequence[str]) -> bool | None:
    """Whether objects of the kind keep what is written at `path`. None when that cannot be known: the kind is not served, or its
    schema may not be read."""
    schema = schema_of(await served_schemas(client, resource), resource)
    return None if schema is None else has_field(schema, path)


async def served_schemas(client: Client, resource: Resource) -> Json:
    """The schemas of the kind's group and version by name; nothing when they may not be read."""
    of_group = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
    try:
        document = msgspec.json.decode(await client.raw("GET", f"/openapi/v3/{of_group}"))
    except (ApiError, ConnectionProblem, msgspec.DecodeError):
        return {}
    return ((document.get("components") or {}).get("schemas") or {}) if isinstance(document, dict) else {}


def schema_of(schemas: Json, resource: Resource) -> Json | None:
    """The schema of the kind among them."""
    identity = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    return next((one for one in schemas.values() if identity in (one.get("x-kubernetes-group-version-kind") or ())), None)


def nearest_field(schemas: Json, resource: Resource, path: Sequence[str | int], taken: Collection[str]) -> str | None:
    """What the last name of a path was probably meant to be: the name most like it among the fields that the schema has there,
    without those that are `taken`. None where none is much like it."""
    schema = schema_of(schemas, resource)
    for step in path[:-1]:
        schema = None if schema is None else _below(schema, step, schemas)
    if schema is None:
        return None
    names = [name for part in _parts(schema, schemas) for name in part.get("properties") or () if name not in taken]
    return next(iter(nearest(str(path[-1]), names, cutoff=0.7)), None)


def _below(schema: Json, step: str | int, schemas: Json) -> Json | None:
    """The schema of an item of a list, of a field, or of a value of a map."""
    for part in _parts(schema, schemas):
        below = part.get("items") if isinstance(step, int) else (part.get("properties") or {}).get(step)
        if below is None and not isinstance(step, int) and isinstance(part.get("additionalProperties"), dict):
            below = part["additionalProperties"]
        if below is not None:
            found: Json = below
            return found
    return None


def _parts(schema: Json, schemas: Json) -> Iterator[Json]:
    """The schema and what it refers to (`default` stands beside `allOf: [{$ref: ...}]`)."""
    yield schema
    for part in schema.get("allOf") or ():
        yield from _parts(part, schemas)
    if "$ref" in schema:
        yield from _parts(schemas.get(schema["$ref"].removeprefix(_REFERENCE)) or {}, schemas)


def has_field(schema: Json, path: Sequence[str]) -> bool | None:
    """Whether the schema keeps a field; None where it refers to another that is not followed."""
    for name in path:
        below: Any = (schema.get("properties") or {}).get(name)
        if below is None:
            return None if "$ref" in schema or "allOf" in schema else bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        schema = below
    return True
