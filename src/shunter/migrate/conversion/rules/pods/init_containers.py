"""Init containers that v1's operator adds itself: they stand in copies of live pods, and have no work in v2."""

from __future__ import annotations

from shunter.jobs.training_pods import ADDED_CONTAINERS
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path

OF_THE_OPERATOR = Topic(
    id="POD008",
    title="an init container of the v1 operator is dropped",
    severity="info",
    change="lossless",
    grade="E",
    explanation=(
        "The v1 operator adds init containers to pods: init-pytorch waits for the Master's name, and kubectl-delivery copies "
        "kubectl for the launcher. If a template has them, it was copied from a live pod. In v2 all pods start at once, and "
        "torch and mpirun wait for each other."
    ),
    remedy="No action needed.",
    effort=0,
)


def apply(draft: Draft) -> None:
    """Leaves out those of v1's operator; the user's stay, in their order."""
    for group in draft.groups:
        given = group.pod["spec"].get("initContainers")
        if given and any(container.get("name") in ADDED_CONTAINERS for container in given):
            _leave_out(draft, group)


def _leave_out(draft: Draft, group: Group) -> None:
    given = group.pod["spec"].pop("initContainers")
    kept = [(index, container) for index, container in enumerate(given) if container.get("name") not in ADDED_CONTAINERS]
    if kept:
        group.pod["spec"]["initContainers"] = [container for _, container in kept]
    places = {old: new for new, (old, _) in enumerate(kept)}
    for template in draft.template_paths(group):
        for index, container in enumerate(given):
            path: Path = (*template, "spec", "initContainers", index)
            if index in places:
                target = (*draft.pod_template_path(group), "spec", "initContainers", places[index])
                draft.carry(path, "TrainingRuntime", target)
            else:
                draft.report(OF_THE_OPERATOR, path, f"{container['name']} is dropped: v1 adds it itself.", dropped=True)
