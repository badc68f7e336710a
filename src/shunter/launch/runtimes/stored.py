"""The TrainingRuntime of one job, in a cluster: of the job's name, made before it, since admission asks for it, and owned by it.

Killed before the job is made, the runtime has no job; killed after, no owner. `tidy_runtimes` mends both; it is part of the next
run of that name and of its deletion.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from shunter.api.meta import Json, annotations_of
from shunter.api.names import label_value_faults
from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.errors import EnvironmentProblem
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from shunter.launch.annotations import JOB_LABEL, MADE_FROM
from shunter.launch.code.stored import owner_reference


async def runtime_made_for(client: Client, job: Json) -> Json | None:
    """The TrainingRuntime that was made for this job alone; None for a job that shares its runtime with others."""
    metadata, reference = job["metadata"], job["spec"]["runtimeRef"]
    if (reference.get("kind"), reference["name"]) != (TRAINING_RUNTIMES.kind, metadata["name"]):
        return None
    found = await client.find(TRAINING_RUNTIMES, metadata["name"], metadata["namespace"])
    return found if found is not None and _is_own(found) else None


async def set_runtime_owner(client: Client, job: Json, runtime: Json, made: Json) -> None:
    """Makes the job the owner of its runtime; `made` is that as the server stored it. One that was deleted meanwhile is
    created again. EnvironmentProblem, and the job is deleted, if another took its place: the job might train with that."""
    metadata = job["metadata"]
    owners = [owner_reference(metadata["name"], metadata["uid"])]
    patch = {"metadata": {"uid": made["metadata"]["uid"], "ownerReferences": owners}}
    try:
        await client.patch(TRAINING_RUNTIMES, metadata["name"], metadata["namespace"], patch)
        return
    except NotFound:
        try:
            owned = {**runtime, "metadata": {**runtime["metadata"], "ownerReferences": owners}}
            await client.create(TRAINING_RUNTIMES, owned, field_validation="Strict")
            return
        except AlreadyExists:
            pass
    except (Conflict, Invalid):  # A uid that is another one.
        pass
    await client.delete(TRAIN_JOBS, metadata["name"], metadata["namespace"], uid=metadata["uid"])
    raise EnvironmentProblem(
        f"TrainingRuntime {metadata['namespace']}/{metadata['name']} was replaced while the job was created. "
        f"The job was deleted.",
        "Another command created a runtime of that name at the same time: run it again.",
    )


async def tidy_runtimes(client: Client, namespace: str, *, names: Collection[str]) -> int:
    """Looks at TrainingRuntimes that were made for jobs of these names: makes the job of its name the owner of each that it uses,
    and deletes it otherwise. Returns how many it deleted. An empty namespace means all."""
    valid = sorted(name for name in names if not label_value_faults(name))
    if not valid:
        return 0
    deleted = 0
    for found in (await client.list(TRAINING_RUNTIMES, namespace, label_selector=f"{JOB_LABEL} in ({','.join(valid)})")).items:
        metadata = found["metadata"]
        if not _is_own(found):
            continue
        job = await _user(client, metadata["namespace"], metadata["name"])
        if job is not None:
            owners = [owner_reference(job["metadata"]["name"], job["metadata"]["uid"])]
            if (metadata.get("ownerReferences") or []) != owners:
                patch = {"metadata": {"uid": metadata["uid"], "ownerReferences": owners}}
                with contextlib.suppress(NotFound, Conflict, Invalid):
                    await client.patch(TRAINING_RUNTIMES, metadata["name"], metadata["namespace"], patch)
            continue
        try:
            await client.delete(TRAINING_RUNTIMES, metadata["name"], metadata["namespace"], uid=metadata["uid"])
            deleted += 1
        except (NotFound, Conflict):
            continue
    return deleted


def _is_own(runtime: Json) -> bool:
    metadata = runtime["metadata"]
    is_labelled: bool = (metadata.get("labels") or {}).get(JOB_LABEL) == metadata["name"]
    return is_labelled and MADE_FROM in annotations_of(runtime)


async def _user(client: Client, namespace: str, name: str) -> Json | None:
    job = await client.find(TRAIN_JOBS, name, namespace)
    if job is None:
        return None
    reference = job["spec"]["runtimeRef"]
    uses_it = (reference.get("kind"), reference["name"]) == (TRAINING_RUNTIMES.kind, name)
    return job if uses_it and job["metadata"].get("deletionTimestamp") is None else None
