"""The ConfigMaps that hold code, in a cluster: sent once, owned by every job that uses them, removed when none does.

A job is written in three steps: ConfigMaps, TrainJob, the ConfigMaps' owners. Killed after the first, they have no owner and no
job; killed after the second, no owner. `tidy` mends both; it is part of the next run of that name and of its deletion.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence

from shunter.api.meta import Json, MetadataOnly, ObjectMeta
from shunter.api.names import label_value_faults
from shunter.api.resources import CONFIG_MAPS, TRAIN_JOBS, Resource
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, NotFound
from shunter.launch.annotations import CODE_LABEL, DIGEST, JOB_LABEL, SHORT


async def send(client: Client, namespace: str, maps: Sequence[Json], create: Callable[[Json], Awaitable[Json]]) -> int:
    """Creates by `create` those of the ConfigMaps that are not there; returns how many that were."""
    if not maps:
        return 0
    short = maps[0]["metadata"]["labels"][CODE_LABEL]
    present = {metadata.name: metadata for metadata in await _labelled(client, CONFIG_MAPS, namespace, f"{CODE_LABEL}={short}")}
    sent = 0
    for wanted in maps:
        name, digest = wanted["metadata"]["name"], wanted["metadata"]["annotations"][DIGEST]
        if name not in present:
            try:
                await create(wanted)
                sent += 1
                continue
            except AlreadyExists:
                present[name] = (await client.get(CONFIG_MAPS, name, namespace, view=MetadataOnly)).metadata
        if present[name].annotations.get(DIGEST) != digest:
            raise InputError(
                f"ConfigMap {namespace}/{name} exists and does not contain this code.",
                f"Delete it: kubectl delete configmap {name} -n {namespace}",
            )
    return sent


async def add_owners(client: Client, namespace: str, maps: Sequence[Json]) -> None:
    """Makes every job that uses the ConfigMaps their owner. Recreates those that were deleted meanwhile with their only owner."""
    if not maps:
        return
    metadata = maps[0]["metadata"]
    owners = await users(client, namespace, metadata["labels"][CODE_LABEL], metadata["annotations"][DIGEST])
    for wanted in maps:
        if not await _add_owners(client, namespace, wanted["metadata"]["name"], owners):
            owned = {**wanted, "metadata": {**wanted["metadata"], "ownerReferences": owners}}
            try:
                await client.create(CONFIG_MAPS, owned, field_validation="Strict")
            except AlreadyExists:
                await _add_owners(client, namespace, wanted["metadata"]["name"], owners)


async def tidy(client: Client, namespace: str, *, names: Collection[str], digests: Collection[str] = (), keep: str = "") -> int:
    """Looks at ConfigMaps without owner that were made for jobs of these names, or that hold code of these digests, but for those
    of the digest `keep`: gives them the jobs that use them as owners, and deletes those that none does. Returns how many it
    deleted. An empty namespace means all."""
    valid = sorted(name for name in names if not label_value_faults(name))
    selectors = [f"{JOB_LABEL} in ({','.join(valid)})"] if valid else []
    if shorts := sorted({digest[:SHORT] for digest in digests}):
        selectors.append(f"{CODE_LABEL} in ({','.join(shorts)})")
    found = {metadata.uid: metadata for each in selectors for metadata in await _labelled(client, CONFIG_MAPS, namespace, each)}
    deleted = 0
    for metadata in found.values():
        digest = metadata.annotations.get(DIGEST, "")
        if metadata.owner_references or not digest or digest == keep:
            continue
        if owners := await users(client, metadata.namespace, digest[:SHORT], digest):
            await _add_owners(client, metadata.namespace, metadata.name, owners)
            continue
        try:
            await client.delete(CONFIG_MAPS, metadata.name, metadata.namespace, uid=metadata.uid)
            deleted += 1
        except NotFound:
            continue
    return deleted


async def users(client: Client, namespace: str, short: str, digest: str) -> list[Json]:
    """Owner references to the jobs that use this code and are not being deleted."""
    jobs = await _labelled(client, TRAIN_JOBS, namespace, f"{CODE_LABEL}={short}")
    own = (job for job in jobs if job.deletion_timestamp is None and job.annotations.get(DIGEST) == digest)
    return [owner_reference(job.name, job.uid) for job in own]


def owner_reference(name: str, uid: str) -> Json:
    """What makes an object one of this TrainJob's."""
    return TRAIN_JOBS.typed({"name": name, "uid": uid})


async def _add_owners(client: Client, namespace: str, name: str, owners: Sequence[Json]) -> bool:
    """Whether the ConfigMap was there. Owners are merged by their uid, so that those of others stay."""
    try:
        await client.patch(CONFIG_MAPS, name, namespace, {"metadata": {"ownerReferences": list(owners)}}, type="strategic")
    except NotFound:
        return False
    return True


async def _labelled(client: Client, resource: Resource, namespace: str, selector: str) -> list[ObjectMeta]:
    """The metadata of objects with such labels; no more, as ConfigMaps of code are large."""
    page = await client.list(resource, namespace, view=MetadataOnly, label_selector=selector)
    return [item.metadata for item in page.items]
