"""What v1's admission has against the job: it may be from a file that was never applied, or older than the webhooks."""

from __future__ import annotations

import re

from shunter.migrate.conversion.draft import Draft
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path

_STEP = re.compile(r"([^.\[\]]+)")
_SAID_ELSEWHERE = ("metadata.name", "spec.runPolicy.managedBy")
"""Fields that rules of their own judge; so are roles that a kind does not have."""

REFUSED = Topic(
    id="INPUT002",
    title="v1 itself would not accept the job",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "The admission webhooks of Training Operator v1.9 refuse the object as it stands. Jobs that are older than the webhooks, "
        "or come past them, run nevertheless; the result is what v1's operator would make of this one."
    ),
    remedy="Correct the field in the source, and make sure that the job is one that really runs.",
)
NO_IMAGE = Topic(
    id="INPUT003",
    title="a container has no image",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "Pods of such a template are refused. In a TrainJob of a shipped runtime it would be worse: the container would get the "
        "image of the runtime, and run something else."
    ),
    remedy="Name the image. Where a kustomization or a chart fills it in, convert what that renders.",
)
TOO_MANY_MASTERS = Topic(
    id="INPUT004",
    title="a job whose number of Masters is not one",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="Exactly one pod of a job is its Master: rank 0, whose address all others are told. v1 refuses any other number.",
    remedy="Set replicas of the Master to 1, and those of the Workers to what is meant.",
)


def apply(draft: Draft) -> None:
    """Reports each fault of the job, except those that other rules tell of; then each container without an image."""
    for fault in draft.faults:
        path = _path(fault.field)
        is_explicit = draft.is_given(path)
        if fault.field in _SAID_ELSEWHERE or fault.reason == "FieldValueNotSupported" or fault.field.endswith(".image"):
            continue
        if fault.body.endswith("must be 1") and is_explicit:
            draft.report(TOO_MANY_MASTERS, path, f"{fault.field} is {draft.given(path)}.")
        else:
            draft.report(REFUSED, path, f"v1 would refuse this: {fault}.")
    for role in draft.job.replicas:
        if draft.job.replica_count(role):
            _look_at_images(draft, (*draft.role_path(role), "template", "spec"))


def _look_at_images(draft: Draft, spec: Path) -> None:
    for field in ("initContainers", "containers"):
        containers = draft.given((*spec, field))
        for index, container in enumerate(containers if isinstance(containers, list) else []):
            if not container.get("image"):
                draft.report(NO_IMAGE, (*spec, field, index), f"Container {container.get('name', index)} has no image.")


def _path(field: str) -> Path:
    """`spec.pytorchReplicaSpecs[Master].replicas` as a path."""
    return tuple(int(step) if step.isdecimal() else step for step in _STEP.findall(field))
