"""Takes an installation away: what `changes.to_remove` names, last applied first; CRDs that still have jobs are not removed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    LEASES,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    Resource,
)
from shunter.api.titles import title_of
from shunter.errors import InputError
from shunter.install import preflight
from shunter.install.changes import RESOURCES, Change, resource_of, to_remove
from shunter.install.installing import Screen, delete, installed_objects
from shunter.install.names import OPERATOR, SELECTOR
from shunter.kube.access import Request
from shunter.kube.client import Client
from shunter.kube.discovery import served_versions
from shunter.kube.errors import NotFound
from shunter.kube.tls.certificate_secret import MANAGED_BY, OWNER
from shunter.operator.overview import JOB_RESOURCES

GONE_SECONDS = 60.0
"""How long objects may take to go after they were deleted."""
ASK_SECONDS = 0.5
OWN = (SECRETS, LEASES)
"""What the operator itself writes into its namespace."""


async def uninstall(
    client: Client, screen: Screen, *, namespace: str, crds: bool = False, with_jobs: bool = False, dry_run: bool = False
) -> None:
    """Deletes what `install` made in this namespace and for it. With `crds` also the CRDs; InputError when that would delete jobs
    and `with_jobs` is not said, and when the installation is in another namespace.

    EnvironmentProblem, before anything is deleted, when a permission is missing.
    """
    served = await served_versions(client)
    known = [resource for resource in RESOURCES if resource.api_version in served]
    await preflight.require_permissions(client, (Request("list", resource, "") for resource in known))
    marked = await installed_objects(client, served)
    if not marked:
        screen.note("nothing installed by `shunter install`; use kubectl or Helm to remove what they applied")
        return
    _require_here(marked, namespace)
    removed = [obj for obj in to_remove(marked, crds=crds) if not _is_namespace(obj) or obj["metadata"]["name"] == namespace]
    jobs = await _jobs(client, served)
    if crds and jobs and not with_jobs:
        raise InputError(
            f"deleting the CRDs would delete {listed(jobs)}.", "Delete the jobs first, or add --with-jobs to lose them."
        )
    if jobs and not crds:
        screen.note(f"{listed(jobs)} remain, with their pods; no operator reconciles them any longer")
    staying = [] if crds else await _jobs(client, served, namespace)
    if reason := await _why_keep_namespace(client, removed, staying, namespace):
        removed = [obj for obj in removed if not _is_namespace(obj)]
        screen.note(reason)
    is_namespace_kept = not any(map(_is_namespace, removed))
    own = [Request(verb, resource, namespace) for resource in OWN for verb in ("list", "delete")] if is_namespace_kept else []
    await preflight.require_permissions(client, [*preflight.requests_for(removed, ("delete",)), *own])
    screen.begin(len(removed))
    for obj in removed:
        screen.doing(title_of(obj))
        await delete(client, obj, dry_run=dry_run)
        screen.done(Change("deleted", title_of(obj)))
    if is_namespace_kept and not dry_run:
        await _forget(client, namespace)
    if not crds and (kept := [obj for obj in marked if resource_of(obj) == CUSTOM_RESOURCE_DEFINITIONS]):
        screen.note(f"kept {', '.join(obj['metadata']['name'] for obj in kept)}; delete them with --crds")
    if not dry_run:
        await _until_gone(client, removed, screen)


def listed(jobs: Sequence[tuple[Resource, int]]) -> str:
    """`2 PyTorchJobs, 1 TrainJob`."""
    return ", ".join(count(number, resource.kind) for resource, number in jobs)


def _is_namespace(obj: Json) -> bool:
    return resource_of(obj) == NAMESPACES


def _require_here(marked: Sequence[Json], namespace: str) -> None:
    """InputError when what was made is the installation of another namespace."""
    accounts = {obj["metadata"]["namespace"] for obj in marked if resource_of(obj) == SERVICE_ACCOUNTS}
    found = accounts or {obj["metadata"]["name"] for obj in marked if _is_namespace(obj)}
    if found and namespace not in found:
        other = min(found)
        raise InputError(f"the operator is installed in namespace {other}, not in {namespace}.", f"Add --namespace {other}.")


async def _jobs(client: Client, served: frozenset[str], namespace: str = "") -> list[tuple[Resource, int]]:
    """Kinds of which there are jobs, and how many; in all namespaces, or in one."""
    found = []
    for resource in JOB_RESOURCES:
        if resource.api_version not in served:
            continue
        with contextlib.suppress(NotFound):
            if count := len((await client.list(resource, namespace)).items):
                found.append((resource, count))
    return found


async def _why_keep_namespace(
    client: Client, removed: Sequence[Json], jobs: Sequence[tuple[Resource, int]], namespace: str
) -> str:
    """What others have in our namespace, `jobs` among it; empty when it may go."""
    if not any(map(_is_namespace, removed)):
        return ""
    strangers = [
        pod["metadata"]["name"]
        for pod in (await client.list(PODS, namespace)).items
        if SELECTOR.items() - (pod["metadata"].get("labels") or {}).items()
    ]
    claims = [claim["metadata"]["name"] for claim in (await client.list(PERSISTENT_VOLUME_CLAIMS, namespace)).items]
    kinds = [("pods", strangers), ("claims", claims)]
    held = [*([listed(jobs)] if jobs else []), *(f"{kind} {', '.join(names)}" for kind, names in kinds if names)]
    return f"kept namespace {namespace}: it contains {' and '.join(held)}" if held else ""


async def _forget(client: Client, namespace: str) -> None:
    """Deletes what the operator itself wrote into a namespace that stays, under whatever name: its certificate and its lease."""
    certificates = (await client.list(SECRETS, namespace, label_selector=f"{MANAGED_BY}={OWNER}")).items
    leases = [lease for lease in (await client.list(LEASES, namespace)).items if _is_written_by_operator(lease)]
    for resource, found in ((SECRETS, certificates), (LEASES, leases)):
        for metadata in (obj["metadata"] for obj in found):
            with contextlib.suppress(NotFound):
                await client.delete(resource, metadata["name"], namespace, uid=metadata["uid"])


def _is_written_by_operator(obj: Json) -> bool:
    return any(entry.get("manager") == OPERATOR for entry in obj["metadata"].get("managedFields") or ())


async def _until_gone(client: Client, removed: Sequence[Json], screen: Screen) -> None:
    """Waits for namespaces and CRDs, which take what is in them first."""
    slow = [obj for obj in removed if resource_of(obj) in (NAMESPACES, CUSTOM_RESOURCE_DEFINITIONS)]
    deadline = asyncio.get_running_loop().time() + GONE_SECONDS
    for obj in slow:
        while (present := await preflight.existing_object(client, obj)) and present["metadata"]["uid"] == obj["metadata"]["uid"]:
            screen.doing(f"waiting for the deletion of {title_of(obj)}")
            if asyncio.get_running_loop().time() > deadline:
                screen.note(f"{title_of(obj)} is still being deleted: {_why_it_stays(present)}")
                break
            await asyncio.sleep(ASK_SECONDS)


def _why_it_stays(obj: Json) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return "; ".join(entry["message"] for entry in conditions if entry.get("message")) or "objects in it still exist"
