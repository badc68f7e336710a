"""Reads from the cluster the input of planning and applying."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, NAMESPACES
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden, NotFound
from shunter.migrate.conversion.batch import Batch, converted
from shunter.migrate.conversion.sharing import shared
from shunter.migrate.conversion.source import live
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving import freeze
from shunter.migrate.moving.backup.index import needs_of
from shunter.migrate.moving.backup.saving import listed
from shunter.migrate.moving.plan import Plan
from shunter.migrate.moving.planning import NAMED_AS_TRAIN_JOB, Cluster, PlannedTrainJob, planned_train_job
from shunter.migrate.options import Options


class Input(NamedTuple):
    """The v1 jobs of some namespaces, and the objects that conversion rules look up."""

    jobs: tuple[SourceObject, ...]
    others: tuple[Json, ...]
    unread: tuple[str, ...]
    """What may not be read: `configmaps in namespace training`."""
    runtimes: tuple[SourceObject, ...] = ()
    """Existing TrainingRuntimes, which results may use."""

    def batch(self, options: Options, done: Callable[[int], None] = lambda count: None) -> Batch:
        """The converted jobs, each with its own runtime (`shared` comes afterwards). `done` is called with the number of jobs
        converted since the last call."""
        return converted(self.jobs, options, self.others, done)

    def shared(self, batch: Batch) -> Batch:
        """The batch with shared runtimes: those of several jobs, or existing ones."""
        return shared(batch, [runtime.value for runtime in self.runtimes])


async def read(client: Client, namespaces: Collection[str]) -> Input:
    """All v1 jobs of the namespaces (all namespaces if empty), with the ConfigMaps that they reference. EnvironmentProblem if
    jobs may not be read, because those might be running."""
    found = await live.jobs(client, sorted(namespaces) or [live.ALL])
    if found.findings:
        reasons = "; ".join(finding.message for finding in found.findings)
        raise EnvironmentProblem(f"not all jobs may be read: {reasons}", found.findings[0].advice)
    others, unread = await named_config_maps(client, found.jobs)
    runtimes = await live.runtimes(client, sorted(namespaces) or [live.ALL])
    return Input(found.jobs, others, unread, runtimes)


async def named_config_maps(client: Client, jobs: Iterable[SourceObject]) -> tuple[tuple[Json, ...], tuple[str, ...]]:
    """The ConfigMaps that jobs reference, and which of them may not be read."""
    wanted = {(job.namespace, name) for job in jobs for name in config_maps_of(job.value)}
    others: list[Json] = []
    unread: set[str] = set()
    for namespace, name in sorted(wanted):
        try:
            others.append(await client.get(CONFIG_MAPS, name, namespace))
        except NotFound:
            continue
        except Forbidden:
            unread.add(f"configmaps in namespace {namespace}")
    return tuple(others), tuple(sorted(unread))


def config_maps_of(job: Json) -> Iterable[str]:
    """The names of the ConfigMaps that a job references."""
    return (need.partition(" ")[2] for need in needs_of(job) if need.startswith("ConfigMap "))


async def cluster(client: Client, server: str, namespaces: Collection[str]) -> tuple[Cluster, tuple[str, ...]]:
    """The facts about a cluster, besides its jobs, on which plans depend, and what may not be read."""
    taken: dict[tuple[str, str, str], PlannedTrainJob | None] = {}
    unread = []
    for resource in NAMED_AS_TRAIN_JOB:
        try:
            found = await listed(client, resource, namespaces)
        except Forbidden:
            unread.append(resource.full_name)
            continue
        for obj in found:
            taken[resource.kind, obj["metadata"]["namespace"], obj["metadata"]["name"]] = planned_train_job(obj)
    return Cluster(server, await identity(client), await freeze.is_possible(client), taken), tuple(unread)


async def identity(client: Client) -> str:
    """The uid of namespace kube-system, which identifies a cluster; empty if it may not be read."""
    try:
        return str((await client.get(NAMESPACES, "kube-system"))["metadata"]["uid"])
    except (Forbidden, NotFound):
        return ""


async def require_cluster_of(client: Client, plan: Plan) -> None:
    """InputError if the plan is for another cluster."""
    here = await identity(client)
    if plan.cluster and here and plan.cluster != here:
        raise InputError(
            f"the plan {plan.id} is of another cluster: {plan.server} (kube-system {plan.cluster}); this one is {here}.",
            "Choose that one with --context, or plan again.",
        )
