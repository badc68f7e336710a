"""Names of containers: the one that trains is called `node` in v2, and whatever names it has to say so."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import NODE
from shunter.migrate.conversion.draft import Draft, Group
from shunter.migrate.findings import Topic
from shunter.migrate.paths import Path, mappings

_NAMING_VALUES = ("kubectl.kubernetes.io/default-container", "kubectl.kubernetes.io/default-logs-container")
"""Annotations whose value is a container's name."""
_NAMING_KEYS = ("container.apparmor.security.beta.kubernetes.io/", "container.seccomp.security.alpha.kubernetes.io/")
"""Beginnings of annotations whose key ends in a container's name."""

TAKEN = Topic(
    id="POD002",
    title="a sidecar named node gets another name",
    severity="warning",
    change="semantic-change",
    grade="Q",
    explanation=(
        "In v2 the training container is always named `node`. Another container of the pod with this name is renamed; adapt "
        "`kubectl logs -c` and log queries that use the name."
    ),
    remedy="Use the new name in references to the container, or rename it in the source.",
)
ANNOTATED = Topic(
    id="POD014",
    title="annotations that name the training container use its v2 name",
    severity="info",
    change="lossless",
    grade="Q",
    explanation=(
        "The training container is named `node` in v2. Annotations that name it, for kubectl logs or for a security profile, "
        "now refer to `node`."
    ),
    remedy="Nothing here; adapt log queries that use the name of the container.",
    effort=0,
    explains=tuple(f"annotations.{name}*" for name in (*_NAMING_VALUES, *_NAMING_KEYS)),
)


def apply(draft: Draft) -> None:
    """Renames the training containers, and what refers to them: annotations, and resourceFieldRef of other containers."""
    for group in draft.groups:
        _rename(draft, group)
        _rename_in_annotations(draft, group)
        for path, reference in mappings(group.pod["spec"], ("spec",)):
            name = reference.get("containerName") if path[-1] == "resourceFieldRef" else None
            if name in group.container_names:
                reference["containerName"] = group.container_names[name]
                draft.changed(group, (*path, "containerName"), f"the container is called {group.container_names[name]} now")


def _rename(draft: Draft, group: Group) -> None:
    spec, training = group.pod["spec"], draft.training_container(group)
    known = {container.get("name") for field in ("containers", "initContainers") for container in spec.get(field) or []}
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or []):
            old = container.get("name", "")
            if container is not training and old == NODE:
                new = next(name for number in range(1, 99) if (name := f"{NODE}-{number}") not in known)
                path = (*draft.template_paths(group)[0], "spec", field, index, "name")
                draft.report(TAKEN, path, f"The sidecar {old} is renamed to {new}.")
                _name(draft, group, (field, index), container, new)
    index = draft.container_index(group.roles[0])
    if training.get("name") != NODE:
        _name(draft, group, ("containers", index), training, NODE)


def _name(draft: Draft, group: Group, place: Path, container: Json, new: str) -> None:
    group.container_names[container.get("name", "")] = container["name"] = new
    draft.changed(group, ("spec", *place, "name"), f"called {new} in v2")


def _rename_in_annotations(draft: Draft, group: Group) -> None:
    annotations = (group.pod.get("metadata") or {}).get("annotations")
    if not annotations:
        return
    renamed: Json = {}
    for key, value in annotations.items():
        path: Path = ("metadata", "annotations", key)
        prefix = next((prefix for prefix in _NAMING_KEYS if key.startswith(prefix)), "")
        name = group.container_names.get(key.removeprefix(prefix)) if prefix else None
        if name:
            renamed[f"{prefix}{name}"] = value
            for template in draft.template_paths(group):
                target = (*draft.pod_template_path(group), "metadata", "annotations", f"{prefix}{name}")
                draft.carry((*template, *path), "TrainingRuntime", target, f"the container is called {name} now")
            draft.report(ANNOTATED, (*draft.template_paths(group)[0], *path), f"{prefix}{name} is its new name.")
        elif key in _NAMING_VALUES and value in group.container_names:
            renamed[key] = group.container_names[value]
            draft.changed(group, path, f"the container is called {renamed[key]} now")
            draft.report(ANNOTATED, (*draft.template_paths(group)[0], *path), f"{key} is {renamed[key]} now.")
        else:
            renamed[key] = value
    group.pod["metadata"]["annotations"] = renamed
