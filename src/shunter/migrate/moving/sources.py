"""For jobs that somebody else looks after: nothing in the cluster, but a file that says what to change, and where. Pure."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from shunter.api.ownership import controller_of
from shunter.migrate.conversion import Conversion
from shunter.migrate.moving.plan import Item

_WHERE = {
    "Helm": "Put it into the chart's templates in the place of the v1 job, and upgrade the release.",
    "Flux": "Put it into the repository that Flux reads in the place of the v1 job; Flux prunes that one.",
    "Argo": "Put it into the application's repository in the place of the v1 job. Prune=false keeps a running v1 job meanwhile.",
    "Trial": "Change the Experiment's trialTemplate: its trialSpec, primaryContainerName `node`, and its success condition.",
    "Workflow": "Change the step of the Workflow's template: its manifest, and successCondition to status.conditions.",
    "CronJob": "Change what the CronJob creates.",
}
"""What is said for owners whose title begins so."""


class SourcePatch(NamedTuple):
    file: str
    text: str


def source_patch(item: Item, conversion: Conversion) -> SourcePatch:
    """The file for a job with an owner: what stands in its place, below what to do with it."""
    job = conversion.source
    advice = next((text for start, text in _WHERE.items() if item.owner.startswith(start)), "Change what makes the job.")
    made = " (which made the job)" if controller_of(job.value) else ""
    head = [f"# {item.title} belongs to {item.owner}{made}.", f"# {advice}", "# In its place:"]
    head += [f"#   {decision}" for decision in item.decisions]
    documents = [obj for obj in (conversion.runtime, conversion.train_job) if obj is not None]
    body = "".join("---\n" + msgspec.yaml.encode(obj).decode() for obj in documents)
    return SourcePatch(f"{item.namespace}-{item.kind.lower()}-{item.name}.yaml", "\n".join(head) + "\n" + body)
