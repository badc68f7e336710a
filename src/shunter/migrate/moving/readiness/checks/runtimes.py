"""The shipped runtimes that results refer to."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.formats.counts import count
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault

TOPIC = Topic(
    id="READY006",
    title="the runtimes that results refer to exist",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "A result of profile P1 refers to a runtime that an installation ships; the webhook rejects the TrainJob if it is "
        "missing."
    ),
    remedy="Install the shipped ClusterTrainingRuntimes, or convert with generated runtimes: --profile runtime",
)


def applies(facts: Facts) -> bool:
    """Whether the result of an unfinished job refers to a shipped runtime."""
    return bool(_jobs_by_runtime(facts))


def faults(facts: Facts) -> Iterator[Fault]:
    """One for each such runtime that does not exist, with the jobs that need it."""
    there = {runtime["metadata"]["name"] for runtime in facts.all(CLUSTER_TRAINING_RUNTIMES)}
    for name, jobs in sorted(_jobs_by_runtime(facts).items()):
        if name not in there:
            yield Fault(
                f"{CLUSTER_TRAINING_RUNTIMES.kind} {name} does not exist; "
                f"{count(len(jobs), 'result needs', 'results need')} it: {', '.join(jobs[:3])}."
            )


def _jobs_by_runtime(facts: Facts) -> dict[str, list[str]]:
    """The jobs whose results refer to a runtime, by its name."""
    jobs: dict[str, list[str]] = {}
    for outcome in facts.unfinished:
        if outcome.conversion is not None and outcome.conversion.runtime is None:
            name = outcome.conversion.train_job["spec"]["runtimeRef"]["name"]
            jobs.setdefault(name, []).append(outcome.source.title)
    return jobs
