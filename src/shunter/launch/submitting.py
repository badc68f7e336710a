"""Writes a job, its code and its runtime to a cluster, under a free name. What can be refused is refused before any write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import NamedTuple

from shunter.api.meta import Json, MetadataOnly, annotations_of
from shunter.api.resources import CONFIG_MAPS, SECRETS, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.api.titles import title_of
from shunter.errors import EnvironmentProblem, InputError, ShunterError
from shunter.kube.client import Client
from shunter.kube.errors import AlreadyExists, ApiError, Forbidden, NotFound
from shunter.kube.webhooks.admission_wait import once_admitted
from shunter.launch.annotations import DIGEST, PROGRAM
from shunter.launch.code.delivery import Code
from shunter.launch.code.stored import add_owners, send, tidy
from shunter.launch.copied_job import name_of_first
from shunter.launch.mounts import map_name
from shunter.launch.named_objects import named_object, require_claims
from shunter.launch.names import base_name, free_name
from shunter.launch.objects import launch, rerun_job, stored_code
from shunter.launch.option_texts import secret_variable
from shunter.launch.options import LaunchOptions
from shunter.launch.refusals import is_rejection
from shunter.launch.resuming import require_resumable
from shunter.launch.runtimes.choice import Runtime, find_runtime, require_rerun_fits, runtime_of_job
from shunter.launch.runtimes.copies import rerun_runtime
from shunter.launch.runtimes.stored import runtime_made_for, set_runtime_owner, tidy_runtimes
from shunter.launch.tracking import new_job_id
from shunter.operator.overview import JOB_RESOURCES


class SubmittedJob(NamedTuple):
    """A job as the server stored it, the name it would have had (`train`, where `train-2` was free), and how many ConfigMaps were
    sent for it."""

    job: Json
    base: str
    sent: int


def silent(_: str) -> None:
    """Drops the sentence."""


async def submit(
    client: Client,
    options: LaunchOptions,
    code: Code,
    *,
    runtime: Runtime | None = None,
    namespace: str = "",
    taken: Collection[str] = (),
    notify: Callable[[str], None] = silent,
) -> SubmittedJob:
    """Creates the job of a program and sends its code; by default in the client's namespace, with the runtime that `find_runtime`
    finds. A name that was not given is a free one: no job's, and none of `taken`. `notify` gets sentences about delays. The place
    to resume from must stand in the options; `preparing.prepared` takes it from the job that is resumed.

    Raises InputError before anything is written: for a given name that is taken, claims that are missing, a job to resume that
    still trains, and whatever the server refuses."""
    namespace = namespace or client.namespace
    chosen = runtime or await find_runtime(client, namespace)
    await require_claims(client, namespace, options)
    await require_resumable(client, namespace, options)

    def objects(name: str) -> list[Json]:
        return launch(options, code, chosen, name=name, namespace=namespace)

    base = options.name or base_name(options.program)
    return await create(
        client, namespace, objects, chosen.reference, base=base, is_given=bool(options.name), taken=taken, notify=notify
    )


async def resubmit(
    client: Client, job: Json, *, name: str = "", taken: Collection[str] = (), notify: Callable[[str], None] = silent
) -> SubmittedJob:
    """Creates a job that does what this one, made by `submit`, does. InputError for a job of another making, and when its code
    is no longer in the cluster."""
    metadata = job["metadata"]
    namespace = metadata["namespace"]
    title = f"TrainJob {namespace}/{metadata['name']}"
    if PROGRAM not in annotations_of(job):
        raise InputError(
            f"--rerun {metadata['name']}: {title} was not created from a program.", "Run its manifest: shunter run FILE"
        )
    maps: list[Json] = []
    if stored := stored_code(job):
        for number in range(stored.count):
            try:
                found = await client.get(CONFIG_MAPS, map_name(stored.digest, number), namespace)
            except NotFound:
                raise InputError(
                    f"--rerun {metadata['name']}: the code of {title} is no longer in the cluster.", "Run the program itself."
                ) from None
            kept = {key: found["metadata"].get(key, {}) for key in ("name", "namespace", "labels", "annotations")}
            maps.append({"apiVersion": "v1", "kind": "ConfigMap", **found, "metadata": kept})

    runtime, job_id = await runtime_made_for(client, job), new_job_id()
    present = await runtime_of_job(client, job)

    def objects(name: str) -> list[Json]:
        require_rerun_fits(present, job, name)
        own = [rerun_runtime(runtime, name)] if runtime is not None else []
        return [*maps, *own, rerun_job(job, name, job_id=job_id, has_own_runtime=runtime is not None)]

    base = name or name_of_first(job)
    reference = job["spec"]["runtimeRef"]
    return await create(client, namespace, objects, reference, base=base, is_given=bool(name), taken=taken, notify=notify)


async def create(
    client: Client,
    namespace: str,
    objects: Callable[[str], list[Json]],
    present_runtime: Json,
    *,
    base: str,
    is_given: bool,
    taken: Collection[str],
    notify: Callable[[str], None],
) -> SubmittedJob:
    """Writes what `objects` makes of a name: ConfigMaps, the job's own runtime, the job, and then the owner of the others.
    `present_runtime` refers to a runtime that is there, for the dry run: the job's own one is not yet."""
    names = {*taken, *await job_names(client, namespace)}
    while True:
        name = base if is_given else free_name(base, names)
        *others, job = objects(name)
        maps = [found for found in others if found["kind"] == CONFIG_MAPS.kind]
        runtimes = [found for found in others if found["kind"] == TRAINING_RUNTIMES.kind]
        present = {**job, "spec": {**job["spec"], "runtimeRef": present_runtime}}
        try:
            await write(client, TRAIN_JOBS, present, notify, dry_run=True)
            await tidy(client, namespace, names={base, name}, keep=job["metadata"]["annotations"].get(DIGEST, ""))
            await _tidy_runtimes(client, namespace, {base, name}, are_needed=bool(runtimes))
            for runtime in runtimes:
                await write(client, TRAINING_RUNTIMES, runtime, notify, dry_run=True)
            sent = await send(client, namespace, maps, lambda code: write(client, CONFIG_MAPS, code, notify))
            made = [await write(client, TRAINING_RUNTIMES, runtime, notify) for runtime in runtimes]
            stored = await write(client, TRAIN_JOBS, job, notify)
        except AlreadyExists as error:
            if is_given:
                await _tidy_runtimes(client, namespace, {name}, are_needed=bool(runtimes))
                what = "TrainingRuntime" if TRAINING_RUNTIMES.plural in error.message else "TrainJob"
                raise InputError(
                    f"--name {name}: {what} {namespace}/{name} exists.",
                    "Use another name, omit --name to get a free one, or add --replace.",
                ) from None
            names.add(name)
            continue
        await add_owners(client, namespace, maps)
        for runtime, there in zip(runtimes, made, strict=True):
            await set_runtime_owner(client, stored, runtime, there)
        return SubmittedJob(stored, base, sent)


async def write(client: Client, resource: Resource, obj: Json, notify: Callable[[str], None], *, dry_run: bool = False) -> Json:
    """Creates an object; returns it as the server stored it, or would with `dry_run`. Raises AlreadyExists as it comes, any other
    refusal in the object's name."""
    try:
        return await once_admitted(lambda: client.create(resource, obj, field_validation="Strict", dry_run=dry_run), notify)
    except AlreadyExists:
        raise
    except ApiError as error:
        raise _refusal(obj, error) from error


async def _tidy_runtimes(client: Client, namespace: str, names: Collection[str], *, are_needed: bool) -> None:
    """Does nothing for users who may not list TrainingRuntimes: they have created none."""
    try:
        await tidy_runtimes(client, namespace, names=names)
    except Forbidden:
        if are_needed:
            raise


async def job_names(client: Client, namespace: str) -> set[str]:
    """Names of the jobs of all our kinds in a namespace: one that two kinds share is ambiguous in every command."""
    found = await asyncio.gather(*(_names_of(client, resource, namespace) for resource in JOB_RESOURCES))
    return set().union(*found)


async def secret_variables(client: Client, namespace: str, secret: str, key: str = "") -> list[Json]:
    """EnvVars for one key of a Secret, or for all, which they are named after. Who may not read the Secret may name a key of it:
    whether it is there shows in the pods."""
    option = f"--env-from secret/{secret}" + (f":{key}" if key else "")
    try:
        found = sorted((await named_object(client, SECRETS, secret, namespace, option=option)).get("data") or {})
    except Forbidden:
        if not key:
            raise
        found = [key]
    if key and key not in found:
        raise InputError(f"{option}: the Secret has no such key.", f"It has {', '.join(found) or 'none'}.")
    return [secret_variable(secret, one) for one in ([key] if key else found)]


async def _names_of(client: Client, resource: Resource, namespace: str) -> set[str]:
    try:
        return {item.metadata.name for item in (await client.list(resource, namespace, view=MetadataOnly)).items}
    except NotFound:
        return set()
    except Forbidden:
        if resource == TRAIN_JOBS:
            raise
        return set()


def _refusal(obj: Json, error: ApiError) -> ShunterError:
    metadata = obj["metadata"]
    title = title_of(obj)
    if not is_rejection(error, obj["kind"]):
        return EnvironmentProblem(f"{title}: {error.message}", error.remedy)
    if isinstance(error, NotFound) and "namespaces" in error.message:
        remedy = f"Create it first: kubectl create namespace {metadata['namespace']}"
        return InputError(f"there is no namespace {metadata['namespace']}.", remedy)
    return InputError(f"{title} is rejected: {error.message}", error.remedy)
