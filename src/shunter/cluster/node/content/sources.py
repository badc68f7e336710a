"""Fetching the ConfigMaps, Secrets, claims and tokens a pod refers to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from shunter.api.meta import Json
from shunter.api.resources import (
    CONFIG_MAPS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    SECRETS,
    SERVICE_ACCOUNTS,
    Resource,
)
from shunter.cluster.node.content.references import Sources, TokenKey, references
from shunter.cluster.node.pod.assigned_pod import AssignedPod
from shunter.kube.client import Client
from shunter.kube.errors import NotFound


async def fetch_sources(client: Client, pod: AssignedPod, tokens: Mapping[TokenKey, str]) -> Sources:
    """Everything the pod refers to that exists; `tokens` are good for a while and not asked for again. Raises ApiError when the
    server cannot be asked."""
    wanted = references(pod.as_json())
    missing = wanted.tokens - tokens.keys()
    config_maps, secrets, claims, fresh = await asyncio.gather(
        _existing(client, CONFIG_MAPS, wanted.config_maps, pod),
        _existing(client, SECRETS, wanted.secrets, pod),
        _existing(client, PERSISTENT_VOLUME_CLAIMS, wanted.claims, pod),
        asyncio.gather(*(_token(client, pod, key) for key in missing)),
    )
    found = {key: token for key, token in zip(missing, fresh, strict=True) if token}
    bound = {claim["spec"].get("volumeName", "") for claim in claims.values()} - {""}
    volumes = await _existing(client, PERSISTENT_VOLUMES, bound, pod)
    return Sources(config_maps, secrets, {**tokens, **found}, claims, volumes)


async def _existing(client: Client, resource: Resource, names: Iterable[str], pod: AssignedPod) -> dict[str, Json]:
    async def get(name: str) -> tuple[str, Json | None]:
        try:
            return name, await client.get(resource, name, pod.metadata.namespace if resource.namespaced else "", view=dict)
        except NotFound:
            return name, None

    found = await asyncio.gather(*(get(name) for name in names))
    return {name: body for name, body in found if body is not None}


async def _token(client: Client, pod: AssignedPod, key: TokenKey) -> str:
    """A token of the pod's service account, bound to the pod; empty when there is no such account."""
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {
            "audiences": [key.audience] if key.audience else [],
            "expirationSeconds": key.expiration_seconds,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.uid},
        },
    }
    account = pod.spec.get("serviceAccountName") or "default"
    try:
        answer = await client.create(
            SERVICE_ACCOUNTS, request, pod.metadata.namespace, view=dict, subresource="token", name=account
        )
    except NotFound:
        return ""
    return str(answer["status"]["token"])
