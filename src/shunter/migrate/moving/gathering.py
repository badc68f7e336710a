"""Reads from the cluster what planning and applying decide by."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.ownership import owner_of
from shunter.api.resources import CONFIG_MAPS, NAMESPACES, SERVICES, TRAIN_JOBS, Resource
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS
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
from shunter.migrate.moving.planning import Cluster, PlannedTrainJob, made_of
from shunter.migrate.options import Options
from shunter.operator.causes.queue import queue_name

IN_THE_WAY: tuple[Resource, ...] = (TRAIN_JOBS, SERVICES, VOLCANO_POD_GROUPS, COSCHEDULING_POD_GROUPS)
"""What a result's own objects would meet by name."""


class Input(NamedTuple):
    """The v1 jobs of some namespaces, and what rules look up beside them."""

    jobs: tuple[SourceObject, ...]
    others: tuple[Json, ...]
    unread: tuple[str, ...]
    """What may not be read: `configmaps in namespace training`."""
    runtimes: tuple[SourceObject, ...] = ()
    """TrainingRuntimes that are there, of which jobs take what suits them."""

    def batch(self, options: Options, done: Callable[[int], None] = lambda count: None) -> Batch:
        """The jobs converted, each with a runtime of its own (`shared` comes after). `done` is told how many more are, again and
        again."""
        return converted(self.jobs, options, self.others, done)

    def shared(self, batch: Batch) -> Batch:
        """The batch with the runtimes that its jobs share, with each other or with what is there."""
        return shared(batch, [runtime.value for runtime in self.runtimes])


class Ready(NamedTuple):
    """The conversions of the jobs that apply acts on, by title, and of the others why nothing is done for them."""

    conversions: Mapping[str, Conversion]
    refused: Mapping[str, str]


async def read(client: Client, namespaces: Collection[str]) -> Input:
    """All v1 jobs of the namespaces (of all when none is named), with the ConfigMaps that they name. EnvironmentProblem when jobs
    may not be read: what is not seen may run."""
    found = await live.jobs(client, sorted(namespaces) or [live.ALL])
    if found.findings:
        said = "; ".join(finding.message for finding in found.findings)
        raise EnvironmentProblem(f"not all jobs may be read: {said}", found.findings[0].advice)
    others, unread = await named_config_maps(client, found.jobs)
    runtimes = await live.runtimes(client, sorted(namespaces) or [live.ALL])
    return Input(found.jobs, others, unread, runtimes)


async def named_config_maps(client: Client, jobs: Iterable[SourceObject]) -> tuple[tuple[Json, ...], tuple[str, ...]]:
    """The ConfigMaps that jobs name, in which rules look things up, and what of them may not be read."""
    wanted = {(job.namespace, name) for job in jobs for name in config_maps_of(job.value)}
    others: list[Json] = []
    unread: set[str] = set()
    for namespace, name in sorted(wanted):
        try:
            others.append({"apiVersion": "v1", "kind": "ConfigMap", **(await client.get(CONFIG_MAPS, name, namespace))})
        except NotFound:
            continue
        except Forbidden:
            unread.add(f"configmaps in namespace {namespace}")
    return tuple(others), tuple(sorted(unread))


def config_maps_of(job: Json) -> Iterable[str]:
    """The names of the ConfigMaps that a job names."""
    return (need.partition(" ")[2] for need in needs_of(job) if need.startswith("ConfigMap "))


async def cluster(client: Client, server: str, namespaces: Collection[str]) -> tuple[Cluster, tuple[str, ...]]:
    """What plans look at beside the jobs, and what of it may not be read."""
    taken: dict[tuple[str, str, str], PlannedTrainJob | None] = {}
    unread = []
    for resource in IN_THE_WAY:
        try:
            found = await listed(client, resource, namespaces)
        except Forbidden:
            unread.append(resource.full_name)
            continue
        for obj in found:
            taken[resource.kind, obj["metadata"]["namespace"], obj["metadata"]["name"]] = made_of(obj)
    return Cluster(server, await identity(client), await freeze.is_possible(client), taken), tuple(unread)


async def identity(client: Client) -> str:
    """The uid of namespace kube-system, which no two clusters have in common; empty when it may not be read."""
    try:
        return str((await client.get(NAMESPACES, "kube-system"))["metadata"]["uid"])
    except (Forbidden, NotFound):
        return ""


async def require_cluster_of(client: Client, plan: Plan) -> None:
    """InputError when the plan is of another cluster."""
    here = await identity(client)
    if plan.cluster and here and plan.cluster != here:
        raise InputError(
            f"the plan {plan.id} is of another cluster: {plan.server} (kube-system {plan.cluster}); this one is {here}.",
            "Choose that one with --context, or plan again.",
        )


def ready(plan: Plan, items: Sequence[Item], found: Input, journal: Journal, *, even_blocked: bool = False) -> Ready:
    """What can be done now for each of these jobs: pure. A job that somebody changed since the plan was made is left alone; one
    that we suspended is as the journal says."""
    jobs = {source.title: source for source in found.jobs}
    surroundings = context_of(found.jobs, found.others)
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
            conversion = convert(source, plan.options_of(item), surroundings)
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
    """The same with runtimes shared, as `convert` shares them: pure. A run that goes on takes what the one before it made."""
    known = [runtime.value for runtime in found.runtimes]
    conversions = shared_by([*ready.conversions.values()], plan.options, known)
    return ready._replace(conversions=dict(zip(ready.conversions, conversions, strict=True)))
