"""Whether each v1 job has a usable result."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.migrate.conversion.rules.owners import MADE_BY_ANOTHER
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault
from shunter.migrate.moving.steps import V1_JOBS

TOPIC = Topic(
    id="READY015",
    title="every v1 job has a usable result",
    severity="warning",
    change="manual",
    grade="D",
    explanation="A job whose conversion is blocked stays on v1 until its findings are resolved or suppressed.",
    remedy="Run `shunter migrate inventory` to see what blocks, and `shunter migrate explain ID` for the remedy.",
    effort=3,
)


def applies(facts: Facts) -> bool:
    """Whether there are unfinished v1 jobs. UnknownFactError if the jobs of a kind may not be listed."""
    for resource in V1_JOBS.values():
        facts.all(resource)
    return bool(facts.unfinished)


def faults(facts: Facts) -> Iterator[Fault]:
    """One for each job whose conversion is blocked. Jobs that another controller created are left to the check `owners`."""
    for outcome in facts.unfinished:
        ids = {finding.topic.id for finding in outcome.findings if finding.is_blocking} - {MADE_BY_ANOTHER.id}
        if ids:
            yield Fault(f"its conversion is blocked by {', '.join(sorted(ids))}.", outcome.source.title)
