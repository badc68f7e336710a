"""Which resource a manifest's apiVersion and kind mean on this server, and what to say when it serves none."""

from __future__ import annotations

import msgspec

from shunter.api.meta import Struct
from shunter.api.resources import Resource
from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import NotFound

OTHERS = {
    "ServiceMonitor": ("monitoring.coreos.com", "the Prometheus operator"),
    "PodMonitor": ("monitoring.coreos.com", "the Prometheus operator"),
    "PrometheusRule": ("monitoring.coreos.com", "the Prometheus operator"),
    "ClusterQueue": ("kueue.x-k8s.io", "Kueue"),
    "LocalQueue": ("kueue.x-k8s.io", "Kueue"),
    "ResourceFlavor": ("kueue.x-k8s.io", "Kueue"),
}
"""Kinds that guides use beside training jobs, with their group and the product that installs them."""


class ApiResource(Struct, frozen=True):
    """One entry of an APIResourceList."""

    name: str
    kind: str
    namespaced: bool = False


class ApiResourceList(Struct, frozen=True):
    """What `/apis/GROUP/VERSION` answers; subresources are among it, as `pods/log`."""

    resources: tuple[ApiResource, ...] = ()


async def served_versions(client: Client) -> frozenset[str]:
    """Every `group/version` that the cluster serves, and `v1`."""
    groups = msgspec.json.decode(await client.raw("GET", "/apis"))["groups"]
    return frozenset({"v1", *(version["groupVersion"] for group in groups for version in group["versions"])})


class Discovery:
    """Answers from the server, each group-version asked for once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lists: dict[str, tuple[Resource, ...]] = {}

    async def resources(self, api_version: str) -> tuple[Resource, ...]:
        """What the server serves under an apiVersion; nothing when it does not know it."""
        if api_version not in self._lists:
            group, _, version = api_version.rpartition("/")
            try:
                body = await self._client.raw("GET", f"/apis/{api_version}" if group else f"/api/{api_version}")
                served = msgspec.json.decode(body, type=ApiResourceList).resources
            except NotFound:
                served = ()
            self._lists[api_version] = tuple(
                Resource(group, version, entry.kind, entry.name, entry.namespaced) for entry in served if "/" not in entry.name
            )
        return self._lists[api_version]

    async def resource_for(self, api_version: str, kind: str, place: str) -> Resource:
        """The resource of a manifest; InputError naming `place` (file and line), the kind and what is close to it."""
        served = await self.resources(api_version)
        for resource in served:
            if resource.kind == kind:
                return resource
        if not served:
            raise InputError(
                f"{place}: this cluster serves no apiVersion {api_version!r} ({kind}).",
                await self._where_served(api_version, kind),
            )
        kinds = sorted(resource.kind for resource in served)
        remedy = did_you_mean(nearest(kind, kinds, cutoff=0.5), f"It serves {', '.join(kinds)}.")
        raise InputError(f"{place}: {api_version} has no kind {kind!r}.", remedy)

    async def _where_served(self, api_version: str, kind: str) -> str:
        """Where else the kind is served, as a remedy."""
        groups = msgspec.json.decode(await self._client.raw("GET", "/apis"))["groups"]
        offered = [version["groupVersion"] for group in groups for version in group["versions"]]
        for other in ("v1", *offered):
            if any(resource.kind == kind for resource in await self.resources(other)):
                return f"{kind} is served as {other}."
        if kind in OTHERS:
            group, bringer = OTHERS[kind]
            wrong = "" if api_version.rpartition("/")[0] == group else f"{kind} is of the group {group}. "
            return f"{wrong}It belongs to {bringer}, which is not installed in this cluster."
        return did_you_mean(nearest(api_version, offered, cutoff=0.7), "Is the CustomResourceDefinition installed?")
