"""What must hold before anything is written: no other tool manages these objects, JobSet is there, we have the permissions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from shunter.api.meta import Json
from shunter.api.ownership import other_manager
from shunter.api.resources import JOBSETS, MUTATING_WEBHOOKS, NAMESPACES, VALIDATING_WEBHOOKS
from shunter.api.titles import title_of
from shunter.errors import EnvironmentProblem, InputError
from shunter.install.changes import other_server, other_version, resource_of
from shunter.install.names import WEBHOOK_SERVICE
from shunter.kube import access
from shunter.kube.access import Request
from shunter.kube.client import Client
from shunter.kube.errors import NotFound

WRITING = ("get", "create", "patch")


def require_jobset(values: Json, served: frozenset[str]) -> None:
    """EnvironmentProblem when TrainJobs are wanted and the cluster has no JobSet."""
    if values["kinds"]["TrainJob"] and values["jobset"]["check"] and JOBSETS.api_version not in served:
        raise EnvironmentProblem(
            f"the cluster does not serve {JOBSETS.api_version}: JobSet is not installed, and TrainJobs run as JobSets.",
            "Install JobSet 0.12 or newer (see docs/install.md), or do without: --set kinds.TrainJob=false",
        )


def require_no_other(present: Sequence[Json], namespace: str, versions: Mapping[str, Collection[str]]) -> None:
    """EnvironmentProblem when objects are managed by another tool, another operator answers our webhooks, or a CRD is that
    of another product's kind of the same name (the mpi-operator's MPIJob); also when one is being deleted, since what is applied
    then goes with it."""
    for obj in present:
        if obj["metadata"].get("deletionTimestamp"):
            raise EnvironmentProblem(
                f"{title_of(obj)} is being deleted.",
                "Install after it is deleted; its conditions and finalizers show what it waits for.",
            )
        if manager := other_manager(obj):
            raise EnvironmentProblem(
                f"{title_of(obj)} belongs to {manager}, which would revert this installation.",
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
                f"{title_of(obj)} calls {server}: another operator serves these jobs, and both would create pods.",
                "Uninstall it first, or leave its kinds out: --set kinds.KIND=false",
            )


async def require_permissions(client: Client, requests: Iterable[Request]) -> None:
    """EnvironmentProblem naming every request that this user may not make."""
    await access.require(client, requests, "This takes an administrator of the cluster (ClusterRole cluster-admin).")


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


async def existing_object(client: Client, obj: Json) -> Json | None:
    """The object of that name as it is now; None when there is none, or its kind is not served yet."""
    return await client.find(resource_of(obj), obj["metadata"]["name"], obj["metadata"].get("namespace", ""))
