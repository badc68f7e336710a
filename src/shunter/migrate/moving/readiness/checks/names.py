"""Existing objects with a name that a result needs."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.migrate.findings import Topic
from shunter.migrate.moving.annotations import PLAN, mark
from shunter.migrate.moving.planning import NAMED_AS_TRAIN_JOB, name_conflict
from shunter.migrate.moving.readiness.facts import Facts, Fault

TOPIC = Topic(
    id="READY011",
    title="the names of results are free",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "A TrainJob's PodGroup is named after the TrainJob, as a v1 job's is: side by side they collide. Its headless Service "
        "has that name too: JobSet uses an existing Service, whatever its selector is, and then pods cannot find each other."
    ),
    remedy="Plan and convert with a suffix: --suffix -v2",
)


def applies(facts: Facts) -> bool:
    """Whether there are unfinished v1 jobs."""
    return bool(facts.unfinished)


def faults(facts: Facts) -> Iterator[Fault]:
    """One for each job whose TrainJob needs the name of an existing object; objects of an earlier plan do not count."""
    there = {
        (resource.kind, obj["metadata"]["namespace"], obj["metadata"]["name"])
        for resource in NAMED_AS_TRAIN_JOB
        for obj in facts.all(resource)
        if not mark(obj, PLAN)
    }
    for outcome in facts.unfinished:
        if outcome.conversion is None:
            continue
        train_job = outcome.conversion.train_job["metadata"].get("name", "")
        if existing := name_conflict(there, outcome.source.namespace, train_job):
            yield Fault(f"its TrainJob {train_job} conflicts with {existing}, which exists.", outcome.source.title)
