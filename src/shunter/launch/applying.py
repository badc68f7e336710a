"""Applies manifests: what jobs need first, jobs last, each refusal with the file and line of its object."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

from shunter.api.meta import Json
from shunter.api.resources import JOBS, NAMESPACES, Resource
from shunter.cluster.namespaces import ensure_namespace
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.discovery import Discovery
from shunter.kube.errors import ApiError
from shunter.kube.manifests import Manifest
from shunter.kube.webhooks.admission_wait import once_admitted
from shunter.launch.deleting import delete_and_wait
from shunter.launch.refusals import refused
from shunter.operator.native_jobs import has_ranks
from shunter.operator.overview import JOB_RESOURCES, overview


async def apply_all(
    target: Target, manifests: list[Manifest], *, replace: bool, notify: Callable[[str], None]
) -> list[tuple[Resource, Json]]:
    """Applies every manifest and returns the jobs among them as the server stored them.

    All kinds are looked up before anything is written, and every job is accepted by the server before one of its name is deleted:
    a typo in the last document leaves nothing half done. `notify` gets a sentence for what else it does.
    """
    discovery = Discovery(target.client)
    found = []
    for manifest in manifests:
        obj = manifest.object
        resource = await discovery.resource_for(obj["apiVersion"], obj["kind"], manifest.place)
        if resource.namespaced:
            obj["metadata"].setdefault("namespace", target.client.namespace)
        found.append((resource, manifest))
    refuse_duplicates(found)
    found.sort(key=lambda pair: rank(*pair))
    await ensure_namespaces(target, found, notify)
    jobs = [(resource, manifest) for resource, manifest in found if is_followed(resource, manifest)]
    in_the_way = [
        (resource, manifest, existing)
        for resource, manifest in jobs
        if (existing := await present(target.client, resource, manifest, replace=replace)) is not None and replace
    ]
    for resource, manifest in found:
        if not is_followed(resource, manifest):
            await apply(target.client, resource, manifest, notify)
            if resource == JOBS:
                notify(f"{manifest.title} is not followed: it has no ranks (its spec.completionMode is not Indexed)")
    for resource, manifest, _ in in_the_way:
        await dry_run_create(target.client, resource, manifest)
    for resource, manifest, existing in in_the_way:
        notify(f"deleting the {overview(existing).state.lower()} {manifest.title}")
        await delete_and_wait(target.client, resource, existing, notify=notify, on_this_machine=target.embedded is not None)
    return [(resource, await apply(target.client, resource, manifest, notify)) for resource, manifest in jobs]


def refuse_duplicates(found: list[tuple[Resource, Manifest]]) -> None:
    """Raises InputError when two manifests are about one object: the second would undo what the first says."""
    places: dict[tuple[Resource, str, str], str] = {}
    for resource, manifest in found:
        metadata = manifest.object["metadata"]
        key = (resource, metadata.get("namespace", ""), metadata.get("name", ""))
        if key[-1] and key in places:
            raise InputError(f"{manifest.place}: {manifest.title} is already defined at {places[key]}.", "Leave one of them out.")
        places[key] = manifest.place


def rank(resource: Resource, manifest: Manifest) -> int:
    """Namespaces first, jobs last; the order of the files otherwise."""
    if resource == NAMESPACES:
        return 0
    return 2 if is_followed(resource, manifest) else 1


def is_followed(resource: Resource, manifest: Manifest) -> bool:
    """Whether it is a training job: of a kind of ours, or a Job that numbers its pods."""
    return resource in JOB_RESOURCES or (resource == JOBS and has_ranks(manifest.object))


async def ensure_namespaces(target: Target, found: list[tuple[Resource, Manifest]], notify: Callable[[str], None]) -> None:
    """On the embedded cluster a namespace that a manifest names is created; elsewhere that is for its administrators."""
    if target.embedded is None:
        return
    given = {manifest.object["metadata"].get("name") for resource, manifest in found if resource == NAMESPACES}
    wanted = {manifest.object["metadata"]["namespace"] for resource, manifest in found if resource.namespaced}
    for name in sorted(wanted - given):
        await ensure_namespace(target.client, name, notify)


async def present(client: Client, resource: Resource, manifest: Manifest, *, replace: bool) -> Json | None:
    """The job of the same name, if there is one; a finished one that stays is an error, since applying does nothing then."""
    metadata = manifest.object["metadata"]
    if not metadata.get("name"):
        return None
    existing = await client.find(resource, metadata["name"], metadata["namespace"])
    if existing is not None and not replace and overview(existing).is_finished:
        raise InputError(
            f"{manifest.place}: {manifest.title} exists and is {overview(existing).state}; it would not run again.",
            "Use --replace to delete it first, or give it another name.",
        )
    return existing


async def dry_run_create(client: Client, resource: Resource, manifest: Manifest) -> None:
    """Creates the job in a dry run, under a random name of the same length. Raises ShunterError if the server rejects it."""
    metadata = manifest.object["metadata"]
    name = "".join(random.choices(string.ascii_lowercase, k=len(metadata["name"])))
    stand_in = {**manifest.object, "metadata": {**metadata, "name": name}}
    try:
        await client.create(resource, stand_in, field_validation="Strict", dry_run=True)
    except ApiError as error:
        raise await refused(client, resource, manifest, error, called=name) from error


async def apply(client: Client, resource: Resource, manifest: Manifest, notify: Callable[[str], None]) -> Json:
    """Server-side apply, or create for a generateName. Unknown fields are refused: a field that does nothing is a mistake."""
    write = client.apply if manifest.object["metadata"].get("name") else client.create
    try:
        return await once_admitted(lambda: write(resource, manifest.object, field_validation="Strict"), notify)
    except ApiError as error:
        raise await refused(client, resource, manifest, error) from error
