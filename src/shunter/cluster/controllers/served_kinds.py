"""Which kinds the API server serves right now, custom ones included: what garbage collection and namespace deletion work on."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from shunter.api.meta import Struct
from shunter.api.resources import Resource
from shunter.kube.client import Client

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
NOT_COLLECTED = frozenset({("", "Event"), ("events.k8s.io", "Event")})
"""Events own nothing, and go by themselves."""


class _Named(Struct, frozen=True):
    name: str = ""


class _ResponseKind(Struct, frozen=True):
    kind: str = ""


class _Entry(Struct, frozen=True):
    resource: str
    response_kind: _ResponseKind = _ResponseKind()
    scope: str = "Namespaced"
    verbs: tuple[str, ...] = ()


class _Version(Struct, frozen=True):
    version: str
    resources: tuple[_Entry, ...] = ()


class _Group(Struct, frozen=True):
    metadata: _Named = _Named()
    versions: tuple[_Version, ...] = ()


class _Groups(Struct, frozen=True):
    items: tuple[_Group, ...] = ()


async def served_kinds(client: Client, *, verbs: Collection[str]) -> tuple[Resource, ...]:
    """Every kind that can be done these verbs with, each once, in the server's preferred version."""
    found: dict[tuple[str, str], Resource] = {}
    for path in ("/api", "/apis"):
        body = await client.raw("GET", path, headers={"Accept": AGGREGATED})
        for group in msgspec.json.decode(body, type=_Groups).items:
            for version in group.versions:
                for entry in version.resources:
                    if set(verbs) <= set(entry.verbs):
                        resource = _resource(group.metadata.name, version.version, entry)
                        found.setdefault((resource.group, resource.plural), resource)
    return tuple(found.values())


def _resource(group: str, version: str, entry: _Entry) -> Resource:
    return Resource(group, version, entry.response_kind.kind, entry.resource, namespaced=entry.scope == "Namespaced")
