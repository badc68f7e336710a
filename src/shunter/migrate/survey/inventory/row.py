"""One job as a row of the inventory."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from shunter.api.ownership import owner_of
from shunter.api.titles import object_title
from shunter.migrate.conversion.batch import Outcome
from shunter.migrate.conversion.source.live import CLUSTER
from shunter.migrate.findings import Grade, worst
from shunter.migrate.survey.inventory.classes import JobClass, Reason, Subject, classified
from shunter.migrate.survey.inventory.gpu_hours import gpu_hours, gpus
from shunter.migrate.survey.inventory.releases import needed
from shunter.operator.overview import v1_state


class Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A row. It keeps no part of the job, so that ten thousand rows need little memory."""

    kind: str
    namespace: str
    name: str
    place: Annotated[str, Meta(description="`file:line:column`, or `cluster`.")]
    inside: Annotated[str, Meta(description="The object that the job is embedded in; empty for a job of its own.")]
    state: Annotated[str, Meta(description="Of a job in a cluster; empty for a manifest.")]
    job_class: JobClass = msgspec.field(name="class")
    reasons: Annotated[tuple[Reason, ...], Meta(description="Rule and reason, for every rule that holds; the first decided.")]
    effort: Annotated[int, Meta(description="Points; each topic counts once.")]
    profile: str
    grade: Grade
    release: Annotated[str, Meta(description="The oldest Trainer that runs the result; empty when there is none.")]
    gpus: Annotated[float, Meta(description="Devices that all pods ask for together.")]
    gpu_hours: float
    owner: Annotated[str, Meta(description="Who created or manages the job.")]
    blockers: Annotated[tuple[str, ...], Meta(description="Ids of the topics that block it.")]
    topics: Annotated[tuple[str, ...], Meta(description="Ids of all its findings.")]

    @property
    def title(self) -> str:
        """`PyTorchJob training/bert`."""
        return object_title(self.kind, self.namespace, self.name)


def row_of(outcome: Outcome, now: datetime, *, inside: str = "") -> Row:
    """The row of a job; `inside` names the object that it is embedded in."""
    source, conversion = outcome.source, outcome.conversion
    job = source.value
    is_live = source.source == CLUSTER and not inside
    state = v1_state(job)[0] if is_live else ""
    owner = owner_of(job) if is_live or conversion else ""
    classification = classified(Subject(outcome, state, owner, inside))
    standing = [finding for finding in outcome.findings if not finding.suppressed]
    efforts = {finding.topic.id: finding.topic.effort for finding in standing}
    return Row(
        kind=source.kind,
        namespace=source.namespace,
        name=source.name,
        place=source.source if is_live else str(source.place()),
        inside=inside,
        state=state,
        job_class=classification.job_class,
        reasons=classification.reasons,
        effort=0 if classification.job_class == "finished" else sum(efforts.values()),
        profile=conversion.profile if conversion else "",
        grade=worst([finding.topic.grade for finding in outcome.findings]),
        release=needed(conversion)[0] if conversion else "",
        gpus=float(gpus(job)),
        gpu_hours=gpu_hours(job, now) if is_live else 0.0,
        owner=owner,
        blockers=tuple(dict.fromkeys(finding.topic.id for finding in outcome.findings if finding.is_blocking)),
        topics=tuple(dict.fromkeys(finding.topic.id for finding in outcome.findings)),
    )
