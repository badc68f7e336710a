"""Suspended TrainJobs that replace v1 jobs that never ran: there are no runs to compare, so the proof is required. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import TRAINING_RUNTIMES
from shunter.api.trainer.trainjob import TrainJob
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.sharing.jobset_equality import same_jobset
from shunter.migrate.conversion.source import live
from shunter.migrate.moving import plan_conversions
from shunter.migrate.moving.annotations import created_train_jobs
from shunter.migrate.moving.gathering import Input
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import Item, Plan
from shunter.migrate.moving.runs.observation import has_run
from shunter.migrate.moving.step_decisions import contains
from shunter.migrate.options import Options
from shunter.migrate.proof.proving import proof_of
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import is_suspended, overview

_OF_JOBSET = ("runtimeRef", "runtimePatches", "trainer")
"""The fields of a TrainJob from which, with the runtime, its JobSet is built."""


def objections(
    plan: Plan, found: Input, train_jobs: Iterable[Json], runtimes: Iterable[Json], journal: Journal
) -> Mapping[str, str]:
    """For each v1 job of the plan that never ran, by title: why its TrainJob cannot replace it; empty if it can. Jobs whose
    TrainJob is not suspended are left out."""
    created = created_train_jobs(plan.id, train_jobs)
    waiting = {title: train_job for title, train_job in created.items() if waits(train_job)}
    jobs = {source.title: source.value for source in found.jobs}
    never_ran = [
        item
        for item in plan.items
        if item.title in waiting and item.title in jobs and overview(jobs[item.title]).state == "Suspended"
        if not has_run(jobs[item.title])
    ]
    ready = plan_conversions.ready(plan, never_ran, found, journal)
    specs = {(one["metadata"]["namespace"], one["metadata"]["name"]): live.as_written(one)["spec"] for one in runtimes}
    objections = dict(ready.refused)
    for item in never_ran:
        if conversion := ready.conversions.get(item.title):
            train_job, job = waiting[item.title], jobs[item.title]
            objections[item.title] = _queue(job, train_job) or _objection(
                item, conversion, train_job, specs, plan.options_of(item)
            )
    return objections


def waits(train_job: Json) -> bool:
    """Whether a TrainJob is suspended and has not finished."""
    return is_suspended(train_job) and not overview(train_job).is_finished


def _queue(job: Json, train_job: Json) -> str:
    """The objection that Kueue would start the v1 job, but not its TrainJob, which has no queue's label."""
    queue = queue_name(job)
    return (
        f"it waits in queue {queue}, and TrainJob {train_job['metadata']['name']} does not"
        if queue and not queue_name(train_job)
        else ""
    )


def _objection(
    item: Item, conversion: Conversion, train_job: Json, runtimes: Mapping[tuple[str, str], Json], options: Options
) -> str:
    name, wanted = train_job["metadata"]["name"], {**conversion.train_job["spec"], "suspend": True}
    present = {**train_job["spec"], "suspend": True}
    if conversion.runtime is not None:
        # Other jobs may determine which runtime this one shares, so the resulting JobSets are compared instead.
        wanted = {field: value for field, value in wanted.items() if field not in _OF_JOBSET}
    if not contains(present, wanted):
        return f"TrainJob {name} was changed after it was created: let it train, and compare"
    if conversion.runtime is not None:
        runtime = str(present["runtimeRef"]["name"])
        if not _makes_same_jobset(item, conversion, present, runtimes.get((item.namespace, runtime))):
            title = f"{TRAINING_RUNTIMES.kind} {runtime}"
            return f"TrainJob {name} was changed, or {title} was deleted or changed: let it train, and compare"
    proof = proof_of(conversion, options)
    if not proof.holds or proof.unproved:
        return f"its pods are not proved to be those of v1 (validate): let TrainJob {name} train, and compare"
    return ""


def _makes_same_jobset(item: Item, conversion: Conversion, spec: Json, runtime: Json | None) -> bool:
    """Whether a TrainJob with this spec and runtime results in the same JobSet as the conversion."""
    if runtime is None or conversion.runtime is None:
        return False
    metadata = {"name": conversion.train_job["metadata"]["name"], "namespace": item.namespace}
    specs = ({**conversion.train_job["spec"], "suspend": True}, spec)
    proved, present = (msgspec.convert({"metadata": metadata, "spec": one}, TrainJob) for one in specs)
    return same_jobset((proved, conversion.runtime), (present, {**conversion.runtime, "spec": runtime}))
