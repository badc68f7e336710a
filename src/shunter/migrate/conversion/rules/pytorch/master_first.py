"""What the Master of a PyTorchJob does before it is ready: v1 started Workers afterwards, v2 starts all pods at once."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.training.pytorch import KIND, MASTER, WORKER
from shunter.jobs.training_pods import ADDED_CONTAINERS
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.findings import Topic

NOT_FIRST = Topic(
    id="TORCH019",
    title="Workers no longer wait until the Master is ready",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 gives each Worker an init container that waits until the Master's name resolves: until the Master's init containers "
        "have ended and its readinessProbe succeeds. v2 starts all pods at once. Where the Master first downloads a model or "
        "data to a volume that Workers mount, as jobs of the SDK's train() do, Workers may read a part of it, or fail."
    ),
    remedy=(
        "Make Workers wait for what the Master prepares, such as a file; or, in a runtime with a replicated job for each role, "
        "and without gang scheduling, add to worker: dependsOn: [{name: master, status: Ready}]."
    ),
    effort=3,
    explains=("none",),
)


def apply(draft: Draft) -> None:
    """Tells of init containers that only the Master has, and of its probes."""
    if draft.kind != KIND.resource.kind or not (draft.job.replica_count(MASTER) and draft.job.replica_count(WORKER)):
        return
    master, worker = (draft.job.replicas[role].template.get("spec") or {} for role in (MASTER, WORKER))
    template = (*draft.role_path(MASTER), "template", "spec")
    of_workers = {_name(one) for one in worker.get("initContainers") or ()}
    for index, container in enumerate(master.get("initContainers") or ()):
        if _name(container) not in of_workers | ADDED_CONTAINERS and container.get("restartPolicy") != "Always":
            says = f"{_name(container)} runs in the Master only, and Workers do not wait for its end."
            draft.report(NOT_FIRST, (*template, "initContainers", index), says)
    for index, container in enumerate(master.get("containers") or ()):
        if field := next((one for one in ("readinessProbe", "startupProbe") if container.get(one)), ""):
            says = f"Workers do not wait until the {field} of {_name(container)} succeeds."
            draft.report(NOT_FIRST, (*template, "containers", index, field), says)


def _name(container: Json) -> str:
    return str(container.get("name"))
