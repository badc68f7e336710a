"""The last step: what the TrainJob says of its training container itself, and the replicated jobs that the runtime says.

A TrainJob may say less than a pod template: at most 128 arguments and 500 characters of an image. What is beyond stays in the
runtime, which has no such limits.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import ANCESTOR_LABEL, ANCESTOR_TRAINER
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.findings import Topic

LONGEST_LIST = 128
LONGEST_IMAGE = 500
OF_THE_TRAINER = {"image": "image", "command": "command", "args": "args", "resources": "resourcesPerNode"}
"""Fields of the training container that the TrainJob itself says; its environment is up to `rules/environment`."""
_FIELDS = ("numNodes", "numProcPerNode", "image", "command", "args", "resourcesPerNode", "env")
"""The fields of a trainer section in the order in which they are written."""

IN_THE_RUNTIME = Topic(
    id="POD001",
    title="a field is too long for a TrainJob and moves to the runtime",
    severity="info",
    change="lossless",
    grade="Q",
    explanation=(
        "A TrainJob allows at most 128 variables, 128 words of command or arguments and an image of 500 characters; a pod "
        "template allows more. Longer values are in the generated TrainingRuntime, with the same effect. Such a runtime can "
        "hardly be shared with other jobs."
    ),
    remedy="No action needed. To share the runtime, move the values into a ConfigMap and use envFrom.",
    effort=0,
)


def apply(draft: Draft) -> None:
    """Fills the TrainJob's trainer section and the JobSet's replicatedJobs. What a TrainJob cannot say stays in the runtime."""
    for group in draft.groups:
        if group.trains:
            _move_to_trainer(draft, group)
    draft.trainer = ordered(draft.trainer)
    draft.jobset["replicatedJobs"] = [_replicated_job(draft, group) for group in draft.groups]


def ordered(trainer: Json) -> Json:
    """A trainer section with its fields as they are written."""
    return {field: trainer[field] for field in _FIELDS if field in trainer}


def fits(value: object) -> bool:
    """Whether a TrainJob may say it."""
    return len(value) <= (LONGEST_IMAGE if isinstance(value, str) else LONGEST_LIST) if isinstance(value, (str, list)) else True


def _move_to_trainer(draft: Draft, group: Group) -> None:
    training = draft.training_container(group)
    for field, name in OF_THE_TRAINER.items():
        if field in group.runtime_says or (field == "resources" and (training.get(field) or {}).get("claims")):
            # Of a job's resources v2 takes the quantities only: claims of devices stay where they are.
            continue
        if training.get(field) is None:
            training.pop(field, None)
            continue
        paths = [
            (*template, "spec", "containers", draft.container_index(role), field)
            for role, template in zip(group.roles, draft.template_paths(group), strict=True)
        ]
        if not fits(training[field]):
            draft.report(IN_THE_RUNTIME, paths[0], f"{field} of the training container is in the runtime: it is too long.")
            continue
        draft.trainer[name] = training.pop(field)
        for path in paths:
            if draft.is_given(path):
                draft.carry(path, "TrainJob", ("spec", "trainer", name))


def _replicated_job(draft: Draft, group: Group) -> Json:
    """The numbers of pods stand in the TrainJob where it can say them, so that jobs of different size share a runtime; else in
    the runtime, unless it is the one pod that a Job has anyway."""
    labels = {"metadata": {"labels": {ANCESTOR_LABEL: ANCESTOR_TRAINER}}} if group.trains else {}
    is_numbered_by_job = "mpi" in draft.ml_policy or (group.trains and draft.trainer["numNodes"] == group.count)
    count = {} if is_numbered_by_job or group.count == 1 else {"parallelism": group.count, "completions": group.count}
    return {
        "name": group.name,
        **({"replicas": group.replicas} if group.replicas > 1 else {}),
        **({"dependsOn": group.depends_on} if group.depends_on else {}),
        "template": {**labels, "spec": {**group.job_spec, **count, "template": group.pod}},
    }
