"""What v1's admission has against the job: it may be from a file that was never applied, or older than the webhooks."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.pods.repeated_entries import Obstacle, aliases_kept_apart, secrets_kept_apart
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path
from shunter.migrate.pods.admission import repeated_entries

_STEP = late_pattern(r"([^.\[\]]+)")
_SAID_ELSEWHERE = ("metadata.name", "spec.runPolicy.managedBy")
"""Fields that rules of their own judge; so are roles that a kind does not have."""
_KEPT_APART: Mapping[str, Callable[[Sequence[Json]], Obstacle | None]] = {
    "hostAliases": aliases_kept_apart,
    "imagePullSecrets": secrets_kept_apart,
}
"""Lists of which two entries of one key become one (INPUT021, INPUT022), unless there is a reason against it."""

REFUSED = Topic(
    id="INPUT002",
    title="v1 itself would not accept the job",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "The admission webhooks of Training Operator v1.9 reject the object. Jobs that are older than the webhooks, or bypass "
        "them, still run; the result matches what v1's operator would do with this job."
    ),
    remedy="Correct the field in the source, and check that this job really runs.",
)
NO_IMAGE = Topic(
    id="INPUT003",
    title="a container has no image",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "Pods without an image are rejected. In a TrainJob with a shipped runtime the container would even get the runtime's "
        "image, and run something else."
    ),
    remedy="Set the image. If a kustomization or chart sets it, convert the rendered output.",
)
TOO_MANY_MASTERS = Topic(
    id="INPUT004",
    title="a job whose number of Masters is not one",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="Exactly one pod of a job is its Master: rank 0, whose address all other pods get. v1 rejects any other number.",
    remedy="Set replicas of the Master to 1, and those of the Workers to the intended number.",
)
REPEATED = Topic(
    id="INPUT020",
    title="a duplicate entry in a list",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "The API server rejects a v1 job, and a TrainingRuntime, with two entries of the same key: ports of one containerPort "
        "and protocol in a container, or containers, volumes or volumeMounts of one name or path. If two ports have the same "
        "name, it accepts the job and rejects its pods, in v1 and v2. Two hostAliases of one ip, or two imagePullSecrets of one "
        "name, are accepted by v1 built with Kubernetes 1.29 or older and rejected by v2. They are merged (INPUT021, INPUT022) "
        "unless a name would resolve to another address, the two differ in other fields, or the line of /etc/hosts would be too "
        "long for musl. Ports that two containers of a pod share are kept: only one of the two programs can listen on them."
    ),
    remedy="Remove one of the two, or change its port, name or path.",
)


def apply(draft: Draft) -> None:
    """Reports each fault of the job, except those that other rules tell of; then each container without an image, and what is
    there twice."""
    for fault in draft.faults:
        path = _path(fault.field)
        is_explicit = draft.is_given(path)
        if fault.field in _SAID_ELSEWHERE or fault.reason == "FieldValueNotSupported" or fault.field.endswith(".image"):
            continue
        if fault.body.endswith("must be 1") and is_explicit:
            draft.report(TOO_MANY_MASTERS, path, f"{fault.field} is {draft.given(path)}.")
        else:
            draft.report(REFUSED, path, f"v1 would reject this: {fault}.")
    version = draft.job_kind.resource.api_version
    # Of mpi-operator's version there is no schema; its pods are those of v1, and v2 refuses what v1 does.
    repeated = {_path(fault.field): fault for fault in repeated_entries({**draft.source.value, "apiVersion": version})}
    who = "v1 and v2" if draft.source.api_version == version else "v2"
    for role in draft.job.replicas:
        if draft.job.replica_count(role):
            _look_at_images(draft, (*draft.role_path(role), "template", "spec"))
            _look_at_port_names(draft, (*draft.role_path(role), "template", "spec"), repeated)
    for path, fault in repeated.items():
        field = str(path[-2])
        if field in _KEPT_APART:
            if obstacle := _KEPT_APART[field](draft.given(path[:-1])):
                newer = ", as does v1 where it is built with Kubernetes 1.30 or later" if who != "v2" else ""
                says = f"v2 would reject this{newer}: {fault}. They are not merged: {obstacle.reason}."
                draft.report(REPEATED, path, says, remedy=obstacle.remedy)
        elif field != "env":
            draft.report(REPEATED, path, f"{who} would reject this: {fault}.")


def _look_at_images(draft: Draft, spec: Path) -> None:
    for field in ("initContainers", "containers"):
        containers = draft.given((*spec, field))
        for index, container in enumerate(containers if isinstance(containers, list) else []):
            if not container.get("image"):
                draft.report(NO_IMAGE, (*spec, field, index), f"Container {container.get('name', index)} has no image.")


def _look_at_port_names(draft: Draft, spec: Path, reported: Container[Path]) -> None:
    """Ports of one name in a container, but for entries that are `reported`: no schema speaks of names, the rules of pods do."""
    for field in ("initContainers", "containers"):
        containers = draft.given((*spec, field))
        for index, container in enumerate(containers if isinstance(containers, list) else []):
            names: set[str] = set()
            for number, port in enumerate(container.get("ports") or ()):
                name, place = port.get("name"), (*spec, field, index, "ports", number)
                if name in names and place not in reported:
                    says = f"Two ports of container {container.get('name', index)} are called {name}: its pods would be rejected."
                    draft.report(REPEATED, place, says)
                names |= {name} if name else set()


def _path(field: str) -> Path:
    """`spec.pytorchReplicaSpecs[Master].replicas` as a path."""
    return tuple(int(step) if step.isdecimal() else step for step in _STEP.findall(field))
