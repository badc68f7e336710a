"""Who made the job, or manages it: they would recreate or remove a copy beside it."""

from __future__ import annotations

from shunter.api.ownership import MARKS, controller_of, other_manager
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.findings import Topic

_SOURCES = {
    "Trial": "Convert trialTemplate.trialSpec of the Katib Experiment; its primaryPodLabels and successCondition change as well.",
    "Experiment": "Convert trialTemplate.trialSpec of the Katib Experiment.",
    "Workflow": "Convert the template of the Argo Workflow or Kubeflow pipeline that creates it.",
    "CronJob": "Convert the manifest that the CronJob applies.",
    "CronWorkflow": "Convert the template of the Argo CronWorkflow.",
    "FlyteWorkflow": "Update the Flyte task to a plugin that creates TrainJobs.",
    "AppWrapper": "Convert the component of the AppWrapper.",
}
"""What to convert instead, by the kind of the owner."""

MADE_BY_ANOTHER = Topic(
    id="OWNER001",
    title="another object creates the job and will create the next one",
    severity="error",
    change="manual",
    grade="L",
    explanation=(
        "The job has an owner: a Katib Trial, a workflow step, a pipeline run. The owner waits for this job, deletes it when it "
        "is deleted itself, and creates the next one as a v1 job again. Converting only this job migrates nothing."
    ),
    remedy="Convert the template in the owner. To convert only this object, suppress with --accept OWNER001.",
    effort=5,
    acceptable=True,
)
LOOKED_AFTER = Topic(
    id="OWNER002",
    title="a deployment tool manages the job",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "Helm, Argo CD or Flux keep the object as in their source: they undo changes in the cluster, and delete an object that "
        "has their labels or annotations but is not in their source. The result has neither."
    ),
    remedy="Convert the chart or repository that the tool reads, and let it deploy the result.",
    effort=3,
)


def apply(draft: Draft) -> None:
    """Changes nothing in the result: reports the owner, and the tool that looks after the job."""
    path = ("metadata", "ownerReferences")
    if owner := controller_of(draft.source.value):
        remedy = next((text for kind, text in _SOURCES.items() if owner.startswith(f"{kind} ")), "")
        accept = f" To convert this object alone, suppress with --accept {MADE_BY_ANOTHER.id}."
        draft.report(
            MADE_BY_ANOTHER,
            path,
            f"{draft.source.title} was created by {owner}.",
            remedy=remedy and remedy + accept,
            dropped=True,
        )
    if manager := other_manager(draft.source.value):
        marks = [
            ("metadata", field, key) for field, keys in MARKS.items() for key in keys if draft.is_given(("metadata", field, key))
        ]
        draft.report(LOOKED_AFTER, marks[0], f"{draft.source.title} belongs to {manager}.")
        for mark in marks:
            draft.default(mark, "a mark of the tool that manages the v1 object")
