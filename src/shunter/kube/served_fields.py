"""Whether the API server's schema of a kind has a field: what is not ours differs from release to release.

Read from /openapi/v3, which everybody who is authenticated may read (ClusterRole system:discovery).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, ConnectionProblem


async def is_field_served(client: Client, resource: Resource, path: Sequence[str]) -> bool | None:
    """Whether objects of the kind keep what is written at `path`. None when that cannot be known: the kind is not served, or its
    schema may not be read."""
    try:
        document = msgspec.json.decode(await client.raw("GET", f"/openapi/v3/apis/{resource.group}/{resource.version}"))
    except (ApiError, ConnectionProblem, msgspec.DecodeError):
        return None
    schemas = ((document.get("components") or {}).get("schemas") or {}) if isinstance(document, dict) else {}
    identity = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    schema = next((one for one in schemas.values() if identity in (one.get("x-kubernetes-group-version-kind") or ())), None)
    return None if schema is None else has_field(schema, path)


def has_field(schema: Json, path: Sequence[str]) -> bool | None:
    """Whether the schema keeps a field; None where it refers to another that is not followed."""
    for name in path:
        below: Any = (schema.get("properties") or {}).get(name)
        if below is None:
            return None if "$ref" in schema or "allOf" in schema else bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        schema = below
    return True
