"""The stage `server`: checks by dry runs whether a cluster accepts the objects created from a conversion; nothing of the job is
stored.

Webhooks validate a TrainJob together with its runtime, which a dry run does not store: so the runtime is created in a scratch
namespace and deleted again. They do not check the JobSet and its Jobs, which controllers create later: these get dry runs of
their own.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncGenerator

from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.resources import JOBS, JOBSETS, NAMESPACES, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.kube.client import Client
from shunter.kube.errors import PASSING, ApiError, Forbidden, NotFound
from shunter.migrate.conversion.cleaning import clean
from shunter.migrate.findings import Finding
from shunter.migrate.pods.admission import title
from shunter.migrate.pods.sides import v2_side
from shunter.migrate.proof.proving import Proof, StageResult
from shunter.migrate.proof.topics import REFUSED_BY_SERVER

PREFIX = "shunter-dry-run-"
"""The name prefix of scratch namespaces; a leftover one may be deleted."""
_NO_RIGHT = " cannot create resource "
"""In messages of Kubernetes' authorizer only: policies, quotas and webhooks word a 403 otherwise."""


@contextlib.asynccontextmanager
async def scratch_namespace(client: Client, named: str = "") -> AsyncGenerator[str]:
    """The namespace `named`, which is kept; else a new one, which is deleted afterwards with all that is in it."""
    if named:
        yield named
        return
    name = PREFIX + uuid.uuid4().hex[:8]
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    try:
        yield name
    finally:
        with contextlib.suppress(NotFound):
            await client.delete(NAMESPACES, name)


async def dry_run(proof: Proof, client: Client, namespace: str) -> StageResult:
    """The stage `server`. `namespace` is a scratch one (`scratch_namespace`). Nothing of the conversion is left there. Raises
    ApiError if the server does not answer."""
    conversion = proof.conversion
    side = v2_side(conversion.train_job, conversion.runtime)
    findings: list[Finding] = []
    forbidden: list[str] = []
    number = 0

    async def is_accepted(resource: Resource, obj: Json, *, dry_run: bool = True) -> bool:
        nonlocal number
        number += 1
        cleaned = clean(obj)
        body = {**cleaned, "metadata": {**cleaned["metadata"], "namespace": namespace}}
        try:
            await client.create(resource, body, dry_run=dry_run, field_validation="Strict")
        except PASSING:
            raise
        except ApiError as error:
            if isinstance(error, Forbidden) and _NO_RIGHT in error.message:
                forbidden.append(f"{title(obj)}: {error.message}")
                return False
            source = conversion.source
            message = f"{title(obj)} is rejected: {error.message}"
            findings.append(Finding(REFUSED_BY_SERVER, source.title, source.place(), (), message, error.remedy))
            return False
        return True

    runtime = conversion.runtime
    if runtime is None or runtime["kind"] != TRAINING_RUNTIMES.kind:
        await is_accepted(TRAIN_JOBS, conversion.train_job)
    elif await is_accepted(TRAINING_RUNTIMES, runtime, dry_run=False):
        try:
            await is_accepted(TRAIN_JOBS, conversion.train_job)
        finally:
            with contextlib.suppress(NotFound):
                await client.delete(TRAINING_RUNTIMES, runtime["metadata"]["name"], namespace)
    await is_accepted(JOBSETS, side.jobset)
    for job in side.jobs:
        await is_accepted(JOBS, _as_created(job))
    if forbidden and not findings:
        return StageResult("server", (), f"no dry run of {forbidden[0]}", was_tried=False)
    return StageResult("server", tuple(findings), f"dry run of {count(number, 'object')} in namespace {namespace}")


def not_permitted(error: Forbidden) -> StageResult:
    """The result when the user may not create a scratch namespace."""
    return StageResult("server", (), f"{error.message}; name a namespace with --scratch-namespace", was_tried=False)


def _as_created(job: Json) -> Json:
    """A Job as its controller creates it: the server sets the selector and the labels with its uid."""
    spec = {key: value for key, value in job["spec"].items() if key != "selector"}
    template = spec["template"]
    labels = {key: value for key, value in template["metadata"]["labels"].items() if not key.endswith("controller-uid")}
    spec["template"] = {**template, "metadata": {**template["metadata"], "labels": labels}}
    return {**job, "spec": spec}
