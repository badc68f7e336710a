"""Decides the action and the wave of each v1 job of a cluster. Pure. Waves are the job classes of the inventory."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.ownership import owner_of
from shunter.api.resources import SERVICES, TRAIN_JOBS
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS
from shunter.migrate.conversion.batch import Batch, Outcome
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.findings import Finding
from shunter.migrate.moving.annotations import ACTION, PLAN, SOURCE, mark
from shunter.migrate.moving.plan import FORMAT, Action, Freeze, Item, Plan, Strategy, Wave
from shunter.migrate.options import Options
from shunter.migrate.survey.inventory.classes import WAVES, JobClass, Subject, classified
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import FINISHED_STATES, is_suspended, overview

NAMED_AS_TRAIN_JOB = (TRAIN_JOBS, SERVICES, VOLCANO_POD_GROUPS, COSCHEDULING_POD_GROUPS)
"""A TrainJob, and the objects that are created for it under its name."""


class PlannedTrainJob(NamedTuple):
    """A TrainJob that a plan created, by its annotations."""

    plan: str
    job: str
    """The title of its v1 job."""
    name: str
    action: str
    """The action by which it was created; empty if an older version created it."""
    is_suspended: bool


class Cluster(NamedTuple):
    """The facts about a cluster, besides its jobs, on which decisions depend."""

    server: str
    id: str
    """The uid of its namespace kube-system; empty if it may not be read."""
    has_policies: bool
    """Whether it serves ValidatingAdmissionPolicies, which freeze v1."""
    taken: Mapping[tuple[str, str, str], PlannedTrainJob | None] = MappingProxyType({})
    """Existing objects of `NAMED_AS_TRAIN_JOB`, by kind, namespace and name; a TrainJob that a plan created has a value."""


class PlanOptions(NamedTuple):
    """The user's options."""

    strategy: Strategy = "side-by-side"
    namespaces: tuple[str, ...] = ()
    running: Action = "wait"
    """The action for running jobs: wait, move or leave."""
    freeze: Freeze | None = None
    """None: chosen by the strategy."""
    journal_namespace: str = "default"


def planned(batch: Batch, cluster: Cluster, plan_options: PlanOptions, unread: Sequence[str] = ()) -> Plan:
    """The plan for the v1 jobs of a batch, which were read from the cluster."""
    identity = _id(cluster, plan_options, batch)
    made = _planned_train_jobs(cluster)
    waves: dict[JobClass, list[Item]] = {name: [] for name in WAVES}
    for outcome in sorted(batch.outcomes, key=_order):
        item = item_for(outcome, cluster, plan_options, batch.options, identity, made.get(outcome.source.title, ()))
        waves[item.job_class].append(item)
    freeze, why = _freeze(cluster, plan_options)
    return Plan(
        format=FORMAT,
        id=identity,
        strategy=plan_options.strategy,
        server=cluster.server,
        cluster=cluster.id,
        namespaces=plan_options.namespaces,
        freeze=freeze,
        freeze_why=why,
        journal_namespace=plan_options.journal_namespace,
        options=batch.options,
        unread=tuple(unread),
        backup=f"backup-{identity}" if plan_options.strategy == "replacement" else "",
        waves=tuple(Wave(name=name, why=WAVES[name], jobs=tuple(jobs)) for name, jobs in waves.items() if jobs),
    )


def planned_train_job(obj: Json) -> PlannedTrainJob | None:
    """The object as a TrainJob that a plan created; None if no plan did."""
    if not mark(obj, PLAN) or not mark(obj, SOURCE):
        return None
    return PlannedTrainJob(mark(obj, PLAN), mark(obj, SOURCE), obj["metadata"]["name"], mark(obj, ACTION), is_suspended(obj))


def name_conflict(taken: Collection[tuple[str, str, str]], namespace: str, train_job: str) -> str:
    """The existing object whose name conflicts with the TrainJob or an object created for it; empty if there is none."""
    kinds = (resource.kind for resource in NAMED_AS_TRAIN_JOB)
    return next((f"{kind} {train_job}" for kind in kinds if (kind, namespace, train_job) in taken), "")


def item_for(
    outcome: Outcome, cluster: Cluster, plan_options: PlanOptions, options: Options, plan_id: str, made: Sequence[PlannedTrainJob]
) -> Item:
    """The decision about one job. `made` are the TrainJobs that plans have already created from it; this plan continues with its
    own."""
    source, conversion = outcome.source, outcome.conversion
    state, owner = overview(source.value).state, owner_of(source.value)
    train_job = str(conversion.train_job["metadata"].get("name", "")) if conversion else ""
    item_options: dict[str, Any] = _suppressed_ids(outcome.findings, options)
    if own := next((one for one in made if one.plan == plan_id), None):
        if own.name != train_job and own.name.startswith(source.name):
            item_options = {**item_options, "suffix": own.name.removeprefix(source.name)}
        train_job = own.name
    action, why = _action(outcome, train_job, state, cluster, plan_options, own, made)
    return Item(
        kind=source.kind,
        namespace=source.namespace,
        name=source.name,
        sha256=digest(source.value),
        uid=str(source.metadata.get("uid", "")),
        state=state,
        job_class=classified(Subject(outcome, state, owner, "")).job_class,
        action=action,
        why=why,
        train_job=train_job,
        owner=owner,
        decisions=tuple(_decisions(conversion, outcome.findings)),
        options=item_options,
    )


def _planned_train_jobs(cluster: Cluster) -> dict[str, list[PlannedTrainJob]]:
    """The TrainJobs that plans have created, by the titles of their v1 jobs."""
    found: dict[str, list[PlannedTrainJob]] = {}
    for (kind, _, _), made in sorted(cluster.taken.items(), key=lambda entry: entry[0]):
        if kind == TRAIN_JOBS.kind and made is not None:
            found.setdefault(made.job, []).append(made)
    return found


def _action(
    outcome: Outcome,
    train_job: str,
    state: str,
    cluster: Cluster,
    plan_options: PlanOptions,
    own: PlannedTrainJob | None,
    made: Sequence[PlannedTrainJob],
) -> tuple[Action, str]:
    source = outcome.source
    if state in FINISHED_STATES:
        return "archive", f"it has finished ({state}): a TrainJob created from it would train again"
    if owner := owner_of(source.value):
        return "source", f"it belongs to {owner}, which would undo or repeat what is changed here"
    if own:
        action: Action = "move" if own.action == "move" else "create"
        return action, f"this plan has already created TrainJob {own.name} from it, and continues: {action}"
    if move := next((one for one in made if one.action == "move" and one.is_suspended), None):
        return "leave", f"plan {move.plan} moves it to TrainJob {move.name}: continue that plan (apply), or roll it back"
    if outcome.conversion is None or outcome.is_blocked:
        ids = sorted({finding.topic.id for finding in outcome.findings if finding.is_blocking})
        return "leave", f"its conversion is blocked by {', '.join(ids)}"
    if any(one.name == train_job for one in made):
        return "leave", f"TrainJob {train_job} was already created from it"
    if conflict := name_conflict(cluster.taken, source.namespace, train_job):
        return "leave", f"{conflict} exists; give the TrainJob another name: options: {{suffix: -v2}}"
    queue = queue_name(source.value)
    if queue and is_suspended(source.value):
        return "create", f"it waits in queue {queue}; its TrainJob gets that queue's label when it is to train"
    if queue:
        return "wait", f"it is {state}: Kueue (queue {queue}) decides when it runs, and would start it again"
    if is_suspended(source.value):
        return "create", "it is suspended: no running work can be lost"
    match plan_options.running:
        case "move":
            return (
                "move",
                f"it is {state}; --running=move: it is suspended, and its TrainJob resumes from the last checkpoint",
            )
        case "leave":
            return "leave", f"it is {state}; --running=leave"
        case _:
            return "wait", f"it is {state}: its pods cannot be moved; choose move if it resumes from checkpoints"


def _decisions(conversion: Conversion | None, findings: Sequence[Finding]) -> Iterator[str]:
    if conversion is not None:
        yield f"profile {conversion.profile}: {conversion.reason}"
        yield f"runtime {conversion.runtime_title}"
    for finding in findings:
        stands = f" (suppressed: {finding.suppressed})" if finding.suppressed else ""
        weight = "blocking" if finding.is_blocking else finding.topic.severity
        yield f"{finding.topic.id} {weight}: {finding.message}{stands}"


def _suppressed_ids(findings: Sequence[Finding], options: Options) -> dict[str, list[str]]:
    """The blocking findings that `migration.yaml` suppresses for this job, as options for the job in the plan."""
    ids = {finding.topic.id for finding in findings if finding.suppressed and finding.topic.impact == "blocking"}
    return {"accepted": sorted({*options.accepted, *ids})} if ids - set(options.accepted) else {}


def _freeze(cluster: Cluster, plan_options: PlanOptions) -> tuple[Freeze, str]:
    if plan_options.freeze is not None:
        return plan_options.freeze, "--freeze"
    if not cluster.has_policies:
        return "none", "the cluster does not serve ValidatingAdmissionPolicy (Kubernetes 1.30 or newer does)"
    if plan_options.strategy == "replacement":
        return "deny", "no new job may start on v1 while it is drained"
    return "warn", "users who create a v1 job are warned to use v2; change it to deny when they have switched"


def _id(cluster: Cluster, plan_options: PlanOptions, batch: Batch) -> str:
    """The plan's id: the same for the same jobs of the same cluster, so that planning again finds the journal."""
    jobs = sorted(f"{outcome.source.title} {outcome.source.metadata.get('uid')}" for outcome in batch.outcomes)
    inputs = msgspec.json.encode([cluster.id or cluster.server, plan_options.strategy, plan_options.namespaces, jobs])
    return hashlib.sha256(inputs).hexdigest()[:10]


def _order(outcome: Outcome) -> tuple[str, str, str]:
    return outcome.source.namespace, outcome.source.kind, outcome.source.name
