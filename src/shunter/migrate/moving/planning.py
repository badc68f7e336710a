"""What becomes of each job of a cluster, and when: pure. The classes of jobs are those of the inventory."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from shunter.api.ownership import owner_of
from shunter.migrate.backup.cleaning import digest, is_suspended
from shunter.migrate.batch import Batch, Outcome
from shunter.migrate.conversion import Conversion
from shunter.migrate.findings import Finding
from shunter.migrate.inventory.classes import JobClass, Subject, judged
from shunter.migrate.moving.marks import queue_of
from shunter.migrate.moving.plan import FORMAT, Action, Freeze, Item, Plan, Strategy, Wave
from shunter.migrate.options import Options
from shunter.operator.overview import FINISHED_STATES, overview

WAVES: Mapping[JobClass, str] = {
    "simple": "no field changes its meaning: a fair trial for everything after it",
    "standard": "these need runtimes of their own",
    "complex": "something changes its meaning: look at each result",
    "owned": "somebody else makes these: mend the source, the cluster follows",
    "finished": "nothing is left to run: they are archived",
    "blocked": "these stay on v1 until their findings are dealt with",
}
"""Waves in their order, with the reason for each."""


IN_THE_WAY = ("TrainJob", "Service", "PodGroup")
"""Kinds of objects that a TrainJob is, or makes under its own name."""


class Cluster(NamedTuple):
    """What decisions look at beside the jobs."""

    server: str
    id: str
    """The uid of its namespace kube-system; empty when it may not be read."""
    has_policies: bool
    """Whether it serves ValidatingAdmissionPolicies, which freeze v1."""
    taken: Mapping[tuple[str, str, str], str] = MappingProxyType({})
    """Kind, namespace and name of objects that a result's own would meet, and the v1 job whose twin each is, if any."""


class Wishes(NamedTuple):
    """What the user said."""

    strategy: Strategy = "side-by-side"
    namespaces: tuple[str, ...] = ()
    running: Action = "wait"
    """What becomes of jobs that run: wait, move or leave."""
    freeze: Freeze | None = None
    """None takes what fits the strategy."""
    journal_namespace: str = "default"


def planned(batch: Batch, cluster: Cluster, wishes: Wishes, unread: Sequence[str] = ()) -> Plan:
    """The plan for the v1 jobs of a batch, which were read from the cluster."""
    waves: dict[JobClass, list[Item]] = {name: [] for name in WAVES}
    for outcome in sorted(batch.outcomes, key=_order):
        item = item_for(outcome, cluster, wishes, batch.options)
        waves[item.job_class].append(item)
    freeze, why = _freeze(cluster, wishes)
    identity = _id(cluster, wishes, batch)
    return Plan(
        format=FORMAT,
        id=identity,
        strategy=wishes.strategy,
        server=cluster.server,
        cluster=cluster.id,
        namespaces=wishes.namespaces,
        freeze=freeze,
        freeze_why=why,
        journal_namespace=wishes.journal_namespace,
        options=batch.options,
        unread=tuple(unread),
        backup=f"backup-{identity}" if wishes.strategy == "replacement" else "",
        waves=tuple(Wave(name=name, why=WAVES[name], jobs=tuple(jobs)) for name, jobs in waves.items() if jobs),
    )


def in_the_way(taken: Collection[tuple[str, str, str]], namespace: str, twin: str) -> str:
    """The object that one of a TrainJob's own would meet by its name; empty when there is none."""
    return next((f"{kind} {twin}" for kind in IN_THE_WAY if (kind, namespace, twin) in taken), "")


def item_for(outcome: Outcome, cluster: Cluster, wishes: Wishes, options: Options) -> Item:
    source, conversion = outcome.source, outcome.conversion
    state, owner = overview(source.value).state, owner_of(source.value)
    twin = str(conversion.train_job["metadata"].get("name", "")) if conversion else ""
    action, why = _action(outcome, twin, state, cluster, wishes)
    return Item(
        kind=source.kind,
        namespace=source.namespace,
        name=source.name,
        sha256=digest(source.value),
        uid=str(source.metadata.get("uid", "")),
        state=state,
        job_class=judged(Subject(outcome, state, owner, "")).job_class,
        action=action,
        why=why,
        train_job=twin,
        owner=owner,
        decisions=tuple(_decisions(conversion, outcome.findings)),
        options=_taken_on(outcome.findings, options),
    )


def _action(outcome: Outcome, twin: str, state: str, cluster: Cluster, wishes: Wishes) -> tuple[Action, str]:
    source = outcome.source
    if state in FINISHED_STATES:
        return "archive", f"it has finished ({state}): a TrainJob of it would train again"
    if owner := owner_of(source.value):
        return "source", f"it belongs to {owner}, which would undo or repeat what is changed here"
    if outcome.conversion is None or outcome.is_blocked:
        ids = sorted({finding.topic.id for finding in outcome.findings if finding.is_blocking})
        return "leave", f"its conversion is blocked by {', '.join(ids)}"
    title = f"{source.kind} {source.namespace}/{source.name}"
    if cluster.taken.get(("TrainJob", source.namespace, twin)) == title:
        return "leave", f"TrainJob {twin} was made of it already"
    if met := in_the_way(cluster.taken, source.namespace, twin):
        return "leave", f"{met} is in the way; give the TrainJob another name: options: {{suffix: -v2}}"
    queue = queue_of(source.value)
    if queue and is_suspended(source.value):
        return "create", f"it waits in queue {queue}; its TrainJob gets that queue's label when it is to train"
    if queue:
        return "wait", f"it is {state}: Kueue (queue {queue}) decides when it runs, and would start it again"
    if is_suspended(source.value):
        return "create", "it is suspended: nothing runs that could get lost"
    match wishes.running:
        case "move":
            return (
                "move",
                f"it is {state}; --running=move: it is suspended, and its TrainJob goes on from the last checkpoint",
            )
        case "leave":
            return "leave", f"it is {state}; --running=leave"
        case _:
            return "wait", f"it is {state}: its pods cannot be moved; choose move if it goes on from checkpoints"


def _decisions(conversion: Conversion | None, findings: Sequence[Finding]) -> Iterator[str]:
    if conversion is not None:
        yield f"profile {conversion.profile}: {conversion.reason}"
        reference = conversion.train_job["spec"]["runtimeRef"]
        yield f"runtime {reference['kind']} {reference['name']}"
    for finding in findings:
        stands = f" (taken on: {finding.suppressed})" if finding.suppressed else ""
        weight = "blocking" if finding.is_blocking else finding.topic.severity
        yield f"{finding.topic.id} {weight}: {finding.message}{stands}"


def _taken_on(findings: Sequence[Finding], options: Options) -> dict[str, list[str]]:
    """What `migration.yaml` takes on of this job, as options that the job keeps in the plan."""
    ids = {finding.topic.id for finding in findings if finding.suppressed and finding.topic.impact == "blocking"}
    return {"accepted": sorted({*options.accepted, *ids})} if ids - set(options.accepted) else {}


def _freeze(cluster: Cluster, wishes: Wishes) -> tuple[Freeze, str]:
    if wishes.freeze is not None:
        return wishes.freeze, "--freeze"
    if not cluster.has_policies:
        return "none", "the cluster serves no ValidatingAdmissionPolicy (Kubernetes 1.30 or newer does)"
    if wishes.strategy == "replacement":
        return "deny", "nothing new may start on v1 while it is drained"
    return "warn", "whoever makes a v1 job hears of v2; change it to deny once all know"


def _id(cluster: Cluster, wishes: Wishes, batch: Batch) -> str:
    """The same for the same jobs of the same cluster, so that planning again finds its journal."""
    jobs = sorted(f"{outcome.source.title} {outcome.source.metadata.get('uid')}" for outcome in batch.outcomes)
    said = msgspec.json.encode([cluster.id or cluster.server, wishes.strategy, wishes.namespaces, jobs])
    return hashlib.sha256(said).hexdigest()[:10]


def _order(outcome: Outcome) -> tuple[str, str, str]:
    return outcome.source.namespace, outcome.source.kind, outcome.source.name
