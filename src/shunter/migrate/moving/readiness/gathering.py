"""Reads the facts: lists, dry runs and reviews of the user's own permissions. Changes nothing. A missing permission is a fact as
well."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Sequence

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    JOBSETS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    RESOURCE_QUOTAS,
    SECRETS,
    SERVICES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    VALIDATING_WEBHOOKS,
    Resource,
)
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import InputError
from shunter.kube import access
from shunter.kube.client import Client
from shunter.kube.discovery import served_versions
from shunter.kube.errors import AlreadyExists, ApiError, Forbidden, NotFound
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source import live
from shunter.migrate.conversion.source.helm_release import TYPE, release_of, standing
from shunter.migrate.moving.readiness.checks import kueue
from shunter.migrate.moving.readiness.checks.jobset import SMALL_JOBSET
from shunter.migrate.moving.readiness.checks.permissions import requests
from shunter.migrate.moving.readiness.checks.trainer_webhooks import NO_RUNTIME
from shunter.migrate.moving.readiness.checks.v1_webhooks import SUSPENDED
from shunter.migrate.moving.readiness.facts import (
    CRON_WORKFLOWS,
    EXPERIMENTS,
    KUEUE,
    MPI_JOBS_V2BETA1,
    SCHEDULED_WORKFLOWS,
    WORKFLOW_TEMPLATES,
    DryRunResult,
    Facts,
)
from shunter.migrate.moving.steps import V1_JOBS
from shunter.migrate.options import Options

CLUSTER_WIDE: tuple[Resource, ...] = (
    CUSTOM_RESOURCE_DEFINITIONS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    CLUSTER_TRAINING_RUNTIMES,
    DEPLOYMENTS,
)
"""Listed in the whole cluster, whatever the scope: controllers may be in any namespace."""
IN_SCOPE: tuple[Resource, ...] = (
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    SERVICES,
    RESOURCE_QUOTAS,
    VOLCANO_POD_GROUPS,
    COSCHEDULING_POD_GROUPS,
    MPI_JOBS_V2BETA1,
    EXPERIMENTS,
    WORKFLOW_TEMPLATES,
    CRON_WORKFLOWS,
    SCHEDULED_WORKFLOWS,
)
RELEASE_LABELS = "owner=helm"
CANARY = "shunter-readiness-canary"


async def gather(client: Client, namespaces: Collection[str], options: Options) -> Facts:
    """The facts for the v1 jobs of these namespaces, or of all if there are none."""
    version = msgspec.json.decode(await client.raw("GET", "/version"))
    served = await served_versions(client)
    scope = sorted({*namespaces} - {live.ALL}) or [live.ALL]
    found = await live.jobs(client, scope)
    spaces = tuple(sorted({*scope, *(job.namespace for job in found.jobs)} - {live.ALL})) or (client.namespace,)
    lists = await _lists(client, served, scope)
    for finding in found.findings:
        lists[V1_JOBS[finding.object]] = None
    return Facts(
        version=f"{version.get('major', '')}.{str(version.get('minor', '')).rstrip('+')}",
        git_version=str(version.get("gitVersion", "")),
        served=served,
        batch=converted(found.jobs, options),
        namespaces=spaces,
        lists=lists,
        allowed=await access.allowed(client, requests(spaces, {job.kind for job in found.jobs})),
        releases=await releases(client, scope),
        train_job_dry_run=await dry_run(client, served, TRAIN_JOBS, NO_RUNTIME, spaces[0]),
        v1_job_dry_run=await dry_run(client, served, PYTORCH_JOBS, SUSPENDED, spaces[0]),
        jobset_dry_run=await dry_run(client, served, JOBSETS, SMALL_JOBSET, spaces[0]),
    )


async def _lists(client: Client, served: Collection[str], scope: Sequence[str]) -> dict[Resource, Sequence[Json] | None]:
    places: list[tuple[Resource, Sequence[str]]] = [(resource, [live.ALL]) for resource in CLUSTER_WIDE]
    places += [(resource, scope) for resource in IN_SCOPE]
    known = [(resource, spaces) for resource, spaces in places if resource.api_version in served]
    answers = await asyncio.gather(*(_listed(client, resource, spaces) for resource, spaces in known))
    lists = {resource: answer for (resource, _), answer in zip(known, answers, strict=True)}
    lists[CONFIG_MAPS] = await _kueue_configuration(client) if any(version.startswith(f"{KUEUE}/") for version in served) else ()
    return lists


async def _listed(client: Client, resource: Resource, namespaces: Sequence[str]) -> Sequence[Json] | None:
    found: list[Json] = []
    for namespace in namespaces:
        try:
            items = (await client.list(resource, namespace)).items
        except Forbidden:
            return None
        except NotFound:
            return ()
        found += [resource.typed(item) for item in items]
    return found


async def _kueue_configuration(client: Client) -> Sequence[Json] | None:
    namespace, name = kueue.CONFIGURATION
    try:
        return [await client.get(CONFIG_MAPS, name, namespace)]
    except NotFound:
        return ()
    except Forbidden:
        return None


async def releases(client: Client, namespaces: Sequence[str]) -> Sequence[tuple[str, str]] | None:
    """The manifests of Helm releases: of each the newest revision, even if failed or pending, and the deployed one. Secrets that
    cannot be decoded are left out."""
    found: dict[str, list[str]] = {}
    for namespace in namespaces:
        try:
            secrets = (await client.list(SECRETS, namespace, label_selector=RELEASE_LABELS, field_selector=f"type={TYPE}")).items
        except Forbidden:
            return None
        for secret in standing(secrets):
            with contextlib.suppress(InputError):
                release = release_of(secret)
                found.setdefault(f"{secret['metadata']['namespace']}/{release.name}", []).append(release.manifest)
    return sorted((release, "\n---\n".join(sorted(set(manifests)))) for release, manifests in found.items())


async def dry_run(client: Client, served: Collection[str], resource: Resource, spec: Json, namespace: str) -> DryRunResult | None:
    """The server's answer to a new object, in a dry run; None if it does not serve the kind. InputError if the namespace does not
    exist."""
    if resource.api_version not in served:
        return None
    metadata = {"name": CANARY, "namespace": namespace}
    body = resource.typed({"metadata": metadata, "spec": spec})
    try:
        await client.create(resource, body, dry_run=True)
    except AlreadyExists:
        return DryRunResult("", 409)
    except ApiError as error:
        if error.code == 404 and error.status.details and error.status.details.kind == NAMESPACES.plural:
            raise InputError(f"{error.message}.", "Use an existing one: -n NAMESPACE") from error
        return DryRunResult(error.message, error.code)
    return DryRunResult("", 201)
