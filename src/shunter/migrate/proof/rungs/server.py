"""The rung `server`: checks by dry runs whether a cluster accepts the objects that follow from a conversion; nothing of the job
is stored.

A TrainJob is judged together with its runtime, which a dry run does not store: so the runtime is made for a moment in a scratch
namespace. The webhooks of TrainJobs see neither the JobSet nor its Jobs, which controllers make later, so those are asked about
as well.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncGenerator

from shunter.api.formats.counts import count as counted
from shunter.api.meta import Json
from shunter.api.resources import JOBS, JOBSETS, NAMESPACES, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.kube.client import Client
from shunter.kube.errors import PASSING, ApiError, Forbidden, NotFound
from shunter.migrate.conversion.cleaning import clean
from shunter.migrate.findings import Finding
from shunter.migrate.pods.admission import title
from shunter.migrate.pods.sides import v2_side
from shunter.migrate.proof.ladder import Ladder, Step
from shunter.migrate.proof.topics import REFUSED_BY_SERVER

PREFIX = "shunter-dry-run-"
"""The name prefix of scratch namespaces; a leftover one may be deleted."""
_NO_RIGHT = " cannot create resource "
"""Words of Kubernetes' authorizer alone: policies, quotas and webhooks forbid in others."""


@contextlib.asynccontextmanager
async def scratch_namespace(client: Client, named: str = "") -> AsyncGenerator[str]:
    """The namespace that was `named`, which stays; else a new one, which goes afterwards with all that is in it."""
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


async def asked(ladder: Ladder, client: Client, namespace: str) -> Step:
    """The rung `server`. `namespace` is one for such purposes (`scratch_namespace`). Nothing of the conversion is left there.
    Raises ApiError where no answer comes."""
    conversion = ladder.conversion
    side = v2_side(conversion.train_job, conversion.runtime)
    findings: list[Finding] = []
    unasked: list[str] = []
    count = 0

    async def ask(resource: Resource, obj: Json, *, dry_run: bool = True) -> bool:
        nonlocal count
        count += 1
        cleaned = clean(obj)
        body = {**cleaned, "metadata": {**cleaned["metadata"], "namespace": namespace}}
        try:
            await client.create(resource, body, dry_run=dry_run, field_validation="Strict")
        except PASSING:
            raise
        except ApiError as error:
            if isinstance(error, Forbidden) and _NO_RIGHT in error.message:
                unasked.append(f"{title(obj)}: {error.message}")
                return False
            source = conversion.source
            message = f"{title(obj)} is refused: {error.message}"
            findings.append(Finding(REFUSED_BY_SERVER, source.title, source.place(), (), message, error.remedy))
            return False
        return True

    runtime = conversion.runtime
    if runtime is None or runtime["kind"] != TRAINING_RUNTIMES.kind:
        await ask(TRAIN_JOBS, conversion.train_job)
    elif await ask(TRAINING_RUNTIMES, runtime, dry_run=False):
        try:
            await ask(TRAIN_JOBS, conversion.train_job)
        finally:
            with contextlib.suppress(NotFound):
                await client.delete(TRAINING_RUNTIMES, runtime["metadata"]["name"], namespace)
    await ask(JOBSETS, side.jobset)
    for job in side.jobs:
        await ask(JOBS, _as_created(job))
    if unasked and not findings:
        return Step("server", (), f"not asked about {unasked[0]}", was_tried=False)
    return Step("server", tuple(findings), f"asked about {counted(count, 'object')} in namespace {namespace}")


def not_asked(error: Forbidden) -> Step:
    """The step's result when the user may not create a scratch namespace."""
    return Step("server", (), f"{error.message}; name a namespace with --scratch-namespace", was_tried=False)


def _as_created(job: Json) -> Json:
    """A Job as its controller sends it: selector and labels of its uid are the server's to give."""
    spec = {key: value for key, value in job["spec"].items() if key != "selector"}
    template = spec["template"]
    labels = {key: value for key, value in template["metadata"]["labels"].items() if not key.endswith("controller-uid")}
    spec["template"] = {**template, "metadata": {**template["metadata"], "labels": labels}}
    return {**job, "spec": spec}
