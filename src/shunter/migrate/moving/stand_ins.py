"""TrainJobs that wait in the place of v1 jobs that never ran: there are no runs to compare, so the proof has to do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import TRAINING_RUNTIMES
from shunter.api.trainer.trainjob import TrainJob
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.sharing.jobset_equality import same_jobset
from shunter.migrate.conversion.source import live
from shunter.migrate.moving import gathering
from shunter.migrate.moving.gathering import Input
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.marks import twins_of
from shunter.migrate.moving.plan import Item, Plan
from shunter.migrate.moving.runs.observation import has_run
from shunter.migrate.moving.step_decisions import holds
from shunter.migrate.options import Options
from shunter.migrate.proof.ladder import climbed
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import is_suspended, overview

_OF_JOBSET = ("runtimeRef", "runtimePatches", "trainer")
"""Fields of a TrainJob of which, and of the runtime, its JobSet is made."""


def objections(
    plan: Plan, found: Input, train_jobs: Iterable[Json], runtimes: Iterable[Json], journal: Journal
) -> Mapping[str, str]:
    """Of each v1 job of the plan that never ran, by its title, why its TrainJob does not stand for it; empty when it does. Jobs
    whose TrainJob does not wait are left out."""
    twins = twins_of(plan.id, train_jobs)
    waiting = {title: twin for title, twin in twins.items() if waits(twin)}
    jobs = {source.title: source.value for source in found.jobs}
    never_ran = [
        item
        for item in plan.items
        if item.title in waiting and item.title in jobs and overview(jobs[item.title]).state == "Suspended"
        if not has_run(jobs[item.title])
    ]
    ready = gathering.ready(plan, never_ran, found, journal)
    specs = {(one["metadata"]["namespace"], one["metadata"]["name"]): live.as_written(one)["spec"] for one in runtimes}
    objections = dict(ready.refused)
    for item in never_ran:
        if conversion := ready.conversions.get(item.title):
            twin, job = waiting[item.title], jobs[item.title]
            objections[item.title] = _queue(job, twin) or _objection(item, conversion, twin, specs, plan.options_of(item))
    return objections


def waits(train_job: Json) -> bool:
    """Whether a TrainJob is there to be started some day."""
    return is_suspended(train_job) and not overview(train_job).is_finished


def _queue(job: Json, twin: Json) -> str:
    """Kueue would start the v1 job when its turn comes, and starts its TrainJob only when that has the queue's label."""
    queue = queue_name(job)
    return (
        f"it waits in queue {queue}, and TrainJob {twin['metadata']['name']} does not" if queue and not queue_name(twin) else ""
    )


def _objection(item: Item, conversion: Conversion, twin: Json, runtimes: Mapping[tuple[str, str], Json], options: Options) -> str:
    name, wanted = twin["metadata"]["name"], {**conversion.train_job["spec"], "suspend": True}
    present = {**twin["spec"], "suspend": True}
    if conversion.runtime is not None:
        # Other jobs may decide which runtime this one shares: what counts is what both make.
        wanted = {field: value for field, value in wanted.items() if field not in _OF_JOBSET}
    if not holds(present, wanted):
        return f"TrainJob {name} was changed since it was made: let it train, and compare"
    if conversion.runtime is not None:
        runtime = str(present["runtimeRef"]["name"])
        if not _makes_the_same(item, conversion, present, runtimes.get((item.namespace, runtime))):
            title = f"{TRAINING_RUNTIMES.kind} {runtime}"
            return f"TrainJob {name} was changed, or {title} is gone or was changed: let it train, and compare"
    ladder = climbed(conversion, options)
    if not ladder.holds or ladder.unproved:
        return f"its pods are not proved to be those of v1 (validate): let TrainJob {name} train, and compare"
    return ""


def _makes_the_same(item: Item, conversion: Conversion, spec: Json, runtime: Json | None) -> bool:
    """Whether a TrainJob of that spec makes the JobSet that the conversion makes."""
    if runtime is None or conversion.runtime is None:
        return False
    metadata = {"name": conversion.train_job["metadata"]["name"], "namespace": item.namespace}
    specs = ({**conversion.train_job["spec"], "suspend": True}, spec)
    proved, present = (msgspec.convert({"metadata": metadata, "spec": one}, TrainJob) for one in specs)
    return same_jobset((proved, conversion.runtime), (present, {**conversion.runtime, "spec": runtime}))
