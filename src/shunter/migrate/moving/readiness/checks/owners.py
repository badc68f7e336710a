"""Objects that create v1 jobs, and will continue to do so."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.formats.counts import count
from shunter.api.ownership import owner_of
from shunter.api.titles import title_of
from shunter.migrate.conversion.source.embedded import found_in
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import (
    CRON_WORKFLOWS,
    EXPERIMENTS,
    SCHEDULED_WORKFLOWS,
    WORKFLOW_TEMPLATES,
    Facts,
    Fault,
)

TOPIC = Topic(
    id="READY012",
    title="no other controller creates v1 jobs",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "Katib, pipelines, Argo, Flux and Helm create v1 jobs from their own sources. They undo or repeat changes made in the "
        "cluster, so their sources have to change, as well as programs that wait for conditions of their jobs."
    ),
    remedy="Convert the sources: shunter migrate convert on the repository; a plan writes a patch for each existing job.",
    effort=5,
)
HOSTS = (EXPERIMENTS, WORKFLOW_TEMPLATES, CRON_WORKFLOWS, SCHEDULED_WORKFLOWS)


def applies(facts: Facts) -> bool:
    """Always: objects that create jobs may exist without any job."""
    return True


def faults(facts: Facts) -> Iterator[Fault]:
    """One for each owner of v1 jobs, and one for each object of Katib, Argo or Kubeflow Pipelines that creates them."""
    owned: dict[str, list[str]] = {}
    for outcome in facts.batch.outcomes:
        if owner := owner_of(outcome.source.value):
            owned.setdefault(owner, []).append(outcome.source.title)
    for owner, jobs in sorted(owned.items()):
        yield Fault(f"it owns {count(len(jobs), 'v1 job')}: {', '.join(jobs[:3])}.", owner)
    for resource in HOSTS:
        for host in facts.all(resource):
            kinds = sorted({embedded.job.kind for embedded in found_in(SourceObject(host, "cluster"))})
            if kinds:
                yield Fault(f"it creates {', '.join(f'{kind}s' for kind in kinds)} of v1.", title_of(host))
