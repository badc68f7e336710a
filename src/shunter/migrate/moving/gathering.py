"""Reads from the cluster the input of planning and applying."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.ownership import owner_of
from shunter.api.resources import CONFIG_MAPS, NAMESPACES
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden, NotFound
from shunter.migrate.conversion.batch import Batch, converted
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.conversion.input_context import context_of
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.reading import UnreadableJobError
from shunter.migrate.conversion.sharing import shared, shared_by
from shunter.migrate.conversion.source import live
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving import freeze
from shunter.migrate.moving.backup.index import needs_of
from shunter.migrate.moving.backup.taking import listed
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import Item, Plan
from shunter.migrate.moving.planning import NAMED_AS_TRAIN_JOB, Cluster, PlannedTrainJob, planned_train_job
from shunter.migrate.options import Options
from shunter.operator.causes.queue import queue_name


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


class Ready(NamedTuple):
    """The conversions of the jobs that can be applied, by title, and the reasons why the others cannot."""

    conversions: Mapping[str, Conversion]
    refused: Mapping[str, str]


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


def ready(plan: Plan, items: Sequence[Item], found: Input, journal: Journal, *, even_blocked: bool = False) -> Ready:
    """Converts these jobs, or gives the reason why nothing can be done. Pure. A job that somebody has changed since the plan was
    made is refused; changes by the plan itself are known from the journal."""
    jobs = {source.title: source for source in found.jobs}
    input_context = context_of(found.jobs, found.others)
    conversions: dict[str, Conversion] = {}
    refused: dict[str, str] = {}
    for item in items:
        source = jobs.get(item.title)
        if source is None:
            refused[item.title] = "it is gone"
            continue
        if digest(source.value) not in {item.sha256, *journal.digests(item.kind, item.namespace, item.name)}:
            refused[item.title] = "it was changed since the plan was made; plan again"
            continue
        try:
            conversion = convert(source, plan.options_of(item), input_context)
        except UnreadableJobError as error:
            refused[item.title] = error.message
            continue
        name = conversion.train_job["metadata"]["name"]
        if item.action == "move" and (owner := owner_of(source.value)):
            refused[item.title] = f"it belongs to {owner}, which would start it again; change it there"
        elif item.action == "move" and (queue := queue_name(source.value)):
            refused[item.title] = f"Kueue (queue {queue}) decides when it runs, and would start it again; wait, or create"
        elif conversion.is_blocked and not even_blocked:
            blocking = sorted({finding.topic.id for finding in conversion.findings if finding.is_blocking})
            refused[item.title] = f"its conversion is blocked by {', '.join(blocking)}; suppress with options: {{accepted: [ID]}}"
        elif item.train_job not in ("", name) and not item.options:
            refused[item.title] = f"its TrainJob would be {name}, not {item.train_job}: names follow from options.suffix"
        else:
            conversions[item.title] = conversion
    return Ready(conversions, refused)


def sharing(plan: Plan, ready: Ready, found: Input) -> Ready:
    """The same with shared runtimes, as in `convert`. Pure. A later run uses the runtimes that an earlier one created."""
    known = [runtime.value for runtime in found.runtimes]
    conversions = shared_by([*ready.conversions.values()], plan.options, known)
    return ready._replace(conversions=dict(zip(ready.conversions, conversions, strict=True)))
