"""Applies an installation to a cluster: in order, idempotent, saying what it changes, taking away what it no longer wants.

Thin: manifests.py has the desired objects, changes.py decides what becomes of each. A run that failed half-way is
completed by running it again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from shunter.api.crds.established import is_established
from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS
from shunter.api.titles import title_of
from shunter.errors import EnvironmentProblem
from shunter.install import manifests, preflight
from shunter.install.changes import (
    MADE_BY_US,
    MARK,
    RESOURCES,
    Change,
    change,
    is_left_unchanged,
    resource_of,
    to_apply,
    to_prune,
)
from shunter.install.resources import SERVICE_MONITORS
from shunter.kube.access import Request
from shunter.kube.client import Client
from shunter.kube.discovery import served_versions
from shunter.kube.errors import PASSING, ApiError, Conflict, Forbidden, NotFound

PATIENCE_SECONDS = 15.0
"""How long an API server that fails, or does not serve a new kind yet, is tried."""
RETRY_SECONDS = 0.2


class Screen(Protocol):
    """Where progress is shown."""

    def begin(self, total: int) -> None:
        """The number of changes to come."""

    def doing(self, text: str) -> None:
        """The step in progress."""

    def done(self, change: Change) -> None:
        """One object is as desired."""

    def note(self, text: str) -> None:
        """Something the user should know."""


class Installation:
    """One installation: checked `values`, where to, and the CRDs that come with it."""

    def __init__(self, values: Json, *, namespace: str, crds: Iterable[Json]) -> None:
        self.values = values
        self.namespace = namespace
        self.crds = manifests.chosen_crds(crds, values)

    @property
    def versions(self) -> dict[str, set[str]]:
        """The versions of each kind that comes with it, by the name of its CRD."""
        return {crd["metadata"]["name"]: {version["name"] for version in crd["spec"]["versions"]} for crd in self.crds}

    def objects(self, served: Iterable[str] = ()) -> list[Json]:
        """All objects in the order in which they are applied."""
        rest = manifests.manifests(self.values, namespace=self.namespace, served=frozenset(served))
        return sorted([*self.crds, *rest], key=lambda obj: RESOURCES.index(resource_of(obj)))


async def install(client: Client, installation: Installation, screen: Screen, *, dry_run: bool = False) -> None:
    """Applies all objects and deletes those of an earlier installation that are no longer wanted; a dry run only says so.

    Before anything is written: EnvironmentProblem when the cluster lacks JobSet, other software looks after these objects or a
    permission is missing. Later: EnvironmentProblem naming the object that the server refused.
    """
    served = await served_versions(client)
    preflight.require_jobset(installation.values, served)
    objects = installation.objects(served)
    await preflight.require_permissions(client, _requests(objects, served))
    await preflight.require_namespaces(client, installation.values, installation.namespace)
    before = await asyncio.gather(*(preflight.existing_object(client, obj) for obj in objects))
    preflight.require_no_other([obj for obj in before if obj is not None], installation.namespace, installation.versions)
    obsolete = to_prune(objects, await installed_objects(client, served))
    await preflight.require_permissions(client, preflight.requests_for(obsolete, ("delete",)))
    screen.begin(len(objects) + len(obsolete))
    if SERVICE_MONITORS.api_version not in served and installation.values["monitoring"] == "auto":
        screen.note(f"no monitors: the cluster does not serve {SERVICE_MONITORS.api_version}")
    for obj, present in zip(objects, before, strict=True):
        screen.doing(title_of(obj))
        if is_left_unchanged(obj, present):
            screen.done(Change("skipped", title_of(obj), ("it was there before, and others may have pods in it",)))
            continue
        screen.done(change(obj, present, await _applied(client, obj, present, dry_run=dry_run)))
    for obj in obsolete:
        screen.doing(title_of(obj))
        await delete(client, obj, dry_run=dry_run)
        screen.done(Change("deleted", title_of(obj)))


async def installed_objects(client: Client, served: Collection[str]) -> list[Json]:
    """Every object that an installation of ours made."""
    found: list[Json] = []
    for resource in RESOURCES:
        if resource.api_version not in served:
            continue
        # NotFound: a group of which only other kinds are there, as when the deletion of CRDs was cut off.
        with contextlib.suppress(NotFound):
            page = await client.list(resource, label_selector=MADE_BY_US)
            found += [resource.typed(obj) for obj in page.items]
    return found


async def delete(client: Client, obj: Json, *, dry_run: bool = False) -> None:
    """Deletes this very object, if it is still there."""
    metadata = obj["metadata"]
    with contextlib.suppress(NotFound):
        await client.delete(
            resource_of(obj), metadata["name"], metadata.get("namespace", ""), uid=metadata["uid"], dry_run=dry_run
        )


def _requests(objects: Sequence[Json], served: Collection[str]) -> list[Request]:
    listed = [Request("list", resource, "") for resource in RESOURCES if resource.api_version in served]
    return [*preflight.requests_for(objects, preflight.WRITING), *listed]


async def _applied(client: Client, obj: Json, present: Json | None, *, dry_run: bool) -> Json:
    """The object as the server has it then. A new one is not sent in a dry run: what it needs (its namespace, its CRD) may be new
    as well."""
    if dry_run and present is None:
        return obj
    resource = resource_of(obj)
    body = to_apply(obj, present)
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while True:
        try:
            stored: Json = await client.apply(resource, body, field_manager=MARK, field_validation="Strict", dry_run=dry_run)
            break
        except (Conflict, NotFound, *PASSING) as error:
            # NotFound: a kind whose CRD was made a moment ago.
            if asyncio.get_running_loop().time() > deadline:
                raise _refusal(obj, error) from error
            await asyncio.sleep(RETRY_SECONDS)
        except ApiError as error:
            raise _refusal(obj, error) from error
    if resource == CUSTOM_RESOURCE_DEFINITIONS and not dry_run:
        await _wait_until_established(client, stored)
    return stored


async def _wait_until_established(client: Client, crd: Json) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while not is_established(crd):
        if asyncio.get_running_loop().time() > deadline:
            conditions = (crd.get("status") or {}).get("conditions") or []
            why = "; ".join(entry.get("message", "") for entry in conditions if entry["status"] != "True")
            raise EnvironmentProblem(f"{title_of(crd)} is not established: {why or 'the server gives no reason'}.")
        await asyncio.sleep(RETRY_SECONDS)
        crd = await client.get(CUSTOM_RESOURCE_DEFINITIONS, crd["metadata"]["name"])


def _refusal(obj: Json, error: ApiError) -> EnvironmentProblem:
    remedy = "Nothing is lost: fix the cause, then run `shunter install` again."
    if isinstance(error, Forbidden) and "grant RBAC permissions" in error.message:
        remedy = "Only a user with these permissions can grant them: ask a cluster administrator to install."
    return EnvironmentProblem(f"{title_of(obj)}: {error.message}", remedy)
