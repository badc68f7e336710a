"""The I/O layer: checks each generation of a policy once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from logging import getLogger

import msgspec

from shunter.api.meta import Json, MetadataOnly
from shunter.api.resources import VALIDATING_POLICIES, Resource
from shunter.cluster.policy_types.matches import GroupKind, matched_kinds, named_versions
from shunter.cluster.policy_types.schemas import schema_of
from shunter.kube.client import Client
from shunter.kube.controllers.manager import Manager
from shunter.kube.discovery import Discovery, served_versions
from shunter.kube.errors import ApiError, NotFound

log = getLogger(__name__)

MANAGER = "validatingadmissionpolicy-status"
RETRY_SECONDS = 1.0


def register(manager: Manager, client: Client) -> None:
    """Adds the controller."""
    checks = PolicyChecks(client)
    manager.informer(VALIDATING_POLICIES, MetadataOnly).add_handler(checks.changed)
    manager.background("policy-types", checks.run)


class PolicyChecks:
    """The names of policies that are to be looked at."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._names: asyncio.Queue[str] = asyncio.Queue()

    def changed(self, old: MetadataOnly | None, new: MetadataOnly | None) -> None:
        """For the informer of policies."""
        if new is not None:
            self._names.put_nowait(new.metadata.name)

    async def run(self) -> None:
        """Works until it is cancelled."""
        while True:
            name = await self._names.get()
            try:
                await self._look(name)
            except ApiError as error:
                log.warning("ValidatingAdmissionPolicy %s: %s", name, error.message)
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self._names.put_nowait, name)
            except Exception:
                log.exception("internal error while checking the types of ValidatingAdmissionPolicy %s", name)

    async def _look(self, name: str) -> None:
        policy = await self._client.find(VALIDATING_POLICIES, name)
        if policy is None:
            return
        generation = policy["metadata"].get("generation", 0)
        if generation <= (policy.get("status") or {}).get("observedGeneration", 0):
            return
        found = await self._warnings(policy)
        checking = {"expressionWarnings": found} if found else {}
        status = {"observedGeneration": generation, "typeChecking": checking}
        body = VALIDATING_POLICIES.typed({"metadata": {"name": name}, "status": status})
        try:
            await self._client.apply(VALIDATING_POLICIES, body, subresource="status", field_manager=MANAGER)
        except NotFound:
            return

    async def _warnings(self, policy: Json) -> list[Json]:
        from shunter.cluster.policy_types.types import typed_kind, warnings

        kinds = matched_kinds(policy, await self._resources(policy))
        param = _param_kind(policy)
        documents = {
            version: await self._schemas(version)
            for version in {one.api_version for one in (*kinds, *((param,) if param else ()))}
        }

        def checked() -> list[Json]:
            typed = {
                kind: typed_kind(kind, schema)
                for kind in (*kinds, *((param,) if param else ()))
                if (schema := schema_of(documents[kind.api_version], kind)) is not None
            }
            return warnings(policy, [typed[kind] for kind in kinds if kind in typed], typed.get(param) if param else None)

        return await asyncio.to_thread(checked)

    async def _resources(self, policy: Json) -> list[Resource]:
        discovery = Discovery(self._client)
        versions = named_versions(policy, await served_versions(self._client))
        return [resource for version in versions for resource in await discovery.resources(version)]

    async def _schemas(self, api_version: str) -> Mapping[str, Json]:
        path = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
        try:
            body = await self._client.raw("GET", f"/openapi/v3/{path}")
        except NotFound:
            return {}
        schemas: Mapping[str, Json] = msgspec.json.decode(body)["components"]["schemas"]
        return schemas


def _param_kind(policy: Json) -> GroupKind | None:
    kind = policy["spec"].get("paramKind")
    if kind is None:
        return None
    group, _, version = kind["apiVersion"].rpartition("/")
    return GroupKind(group, version, kind["kind"])
