"""What must hold before anything is written: nobody else looks after these objects, JobSet is there, we have the permissions."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import JOBSETS, MUTATING_WEBHOOKS, NAMESPACES, VALIDATING_WEBHOOKS, Resource
from shunter.errors import EnvironmentProblem, InputError
from shunter.install.changes import other_manager, other_server, other_version, resource_of, title_of
from shunter.install.names import WEBHOOK_SERVICE
from shunter.install.resources import SELF_SUBJECT_ACCESS_REVIEWS
from shunter.kube.client import Client
from shunter.kube.errors import NotFound

WRITING = ("get", "create", "patch")


class Request(NamedTuple):
    """A verb on a resource, in one namespace or (empty) on one that is in none."""

    verb: str
    resource: Resource
    namespace: str

    @property
    def object(self) -> str:
        """`roles.rbac.authorization.k8s.io in namespace team-a`."""
        group = f".{self.resource.group}" if self.resource.group else ""
        return f"{self.resource.plural}{group}" + (f" in namespace {self.namespace}" if self.namespace else "")


async def served_versions(client: Client) -> frozenset[str]:
    """Every `group/version` that the cluster serves, and `v1`."""
    groups = msgspec.json.decode(await client.raw("GET", "/apis"))["groups"]
    return frozenset({"v1", *(version["groupVersion"] for group in groups for version in group["versions"])})


def require_jobset(values: Json, served: frozenset[str]) -> None:
    """EnvironmentProblem when TrainJobs are wanted and the cluster has no JobSet."""
    if values["kinds"]["TrainJob"] and values["jobset"]["check"] and JOBSETS.api_version not in served:
        raise EnvironmentProblem(
            f"the cluster does not serve {JOBSETS.api_version}: JobSet is not installed, and TrainJobs run as JobSets.",
            "Install JobSet 0.12 or newer (see docs/install.md), or do without: --set kinds.TrainJob=false",
        )


def require_no_other(present: Sequence[Json], namespace: str, versions: Mapping[str, Collection[str]]) -> None:
    """EnvironmentProblem when objects are managed by another tool, another operator answers our webhooks, or a definition is that
    of another product's kind of the same name (the mpi-operator's MPIJob)."""
    for obj in present:
        if manager := other_manager(obj):
            raise EnvironmentProblem(
                f"{title_of(obj)} belongs to {manager}: what is installed here would be undone there.",
                "Change the values there, or uninstall it there first.",
            )
        if version := other_version(obj, versions):
            raise EnvironmentProblem(
                f"{title_of(obj)} stores its objects as {version}, unknown to this operator: they are another product's.",
                f"Leave that kind to it: --set kinds.{obj['spec']['names']['kind']}=false",
            )
        if resource_of(obj) not in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            continue
        if server := other_server(obj, namespace=namespace, service=WEBHOOK_SERVICE):
            raise EnvironmentProblem(
                f"{title_of(obj)} calls {server}: another operator serves these jobs, and both would make pods.",
                "Uninstall it first, or leave its kinds out: --set kinds.KIND=false",
            )


async def require_permissions(client: Client, requests: Iterable[Request]) -> None:
    """EnvironmentProblem naming every request that this user may not make. Asks the server; nothing is written."""
    wanted = sorted(set(requests))
    answers = await asyncio.gather(*(_is_allowed(client, request) for request in wanted))
    refused: dict[str, list[str]] = {}
    for request, is_allowed in zip(wanted, answers, strict=True):
        if not is_allowed:
            refused.setdefault(request.object, []).append(request.verb)
    if refused:
        listed = ", ".join(f"{'/'.join(verbs)} {what}" for what, verbs in sorted(refused.items()))
        raise EnvironmentProblem(
            f"no permission to {listed}.", "This takes an administrator of the cluster (ClusterRole cluster-admin)."
        )


def requests_for(objects: Iterable[Json], verbs: Sequence[str]) -> list[Request]:
    """What the verbs on these objects ask for."""
    places = {(resource_of(obj), obj["metadata"].get("namespace", "")) for obj in objects}
    return [Request(verb, resource, namespace) for resource, namespace in places for verb in verbs]


async def require_namespaces(client: Client, values: Json, own: str) -> None:
    """InputError naming a namespace that the values expect and the cluster does not have."""
    wanted = dict.fromkeys(values["namespaces"], "namespaces")
    if not values["namespace"]["create"]:
        wanted[own] = "namespace.create=false"
    for namespace, said_by in wanted.items():
        try:
            await client.get(NAMESPACES, namespace)
        except NotFound:
            raise InputError(
                f"values: {said_by}: the cluster has no namespace {namespace!r}.", f"kubectl create namespace {namespace}"
            ) from None


async def found(client: Client, obj: Json) -> Json | None:
    """The object of that name as it is now; None when there is none, or its kind is not served yet."""
    metadata = obj["metadata"]
    try:
        return await client.get(resource_of(obj), metadata["name"], metadata.get("namespace", ""))
    except NotFound:
        return None


async def _is_allowed(client: Client, request: Request) -> bool:
    attributes = {"verb": request.verb, "group": request.resource.group, "resource": request.resource.plural}
    if request.namespace:
        attributes["namespace"] = request.namespace
    resource = SELF_SUBJECT_ACCESS_REVIEWS
    review = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": {"resourceAttributes": attributes}}
    answer: Json = await client.create(resource, review)
    return bool(answer["status"]["allowed"])
