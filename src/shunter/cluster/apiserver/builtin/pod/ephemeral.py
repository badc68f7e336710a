"""Ephemeral containers of a pod (`pods/NAME/ephemeralcontainers`): what a write takes, and its rules.

Source: k8s.io/kubernetes 1.36 `podEphemeralContainersStrategy`, `ValidatePodEphemeralContainersUpdate`,
`validateEphemeralContainers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shunter.api.field_errors import FieldError, duplicate, forbidden, not_found
from shunter.api.meta import Json
from shunter.cluster.apiserver.builtin.pod.container_rules import PodContext, common_errors

FIELD = "spec.ephemeralContainers"
_CANNOT = "cannot be set for an Ephemeral Container"
_NOT_FOR_THEM = (
    "lifecycle",
    "livenessProbe",
    "ports",
    "readinessProbe",
    "resizePolicy",
    "resources",
    "restartPolicy",
    "restartPolicyRules",
    "startupProbe",
)


def take_only_them(pod: Json, old: Json | None) -> None:
    """Puts back everything of the stored pod but its ephemeral containers, in place."""
    assert old is not None, "a subresource is of something that is there"
    written = pod["spec"].get("ephemeralContainers")
    kept = {name: value for name, value in old["spec"].items() if name != "ephemeralContainers"}
    pod["spec"] = {**kept, "ephemeralContainers": written} if written else kept
    for name in ("annotations", "finalizers", "labels", "ownerReferences"):
        pod["metadata"].pop(name, None)
        if name in old["metadata"]:
            pod["metadata"][name] = old["metadata"][name]


def ephemeral_errors(pod: Json, old: Json | None) -> list[FieldError]:
    """What is wrong with the ephemeral containers, and with how they differ from those that are there: they can only be added."""
    assert old is not None
    spec = pod["spec"]
    containers: list[Json] = spec.get("ephemeralContainers") or []
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
    context = PodContext(volumes, set(), None, spec.get("restartPolicy", ""), spec.get("hostUsers") is not False)
    others = {one.get("name", "") for one in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))}
    names = set(others)
    errors: list[FieldError] = []
    for index, container in enumerate(containers):
        here = f"{FIELD}[{index}]"
        errors += common_errors(container, context, here)
        name, target = container.get("name", ""), container.get("targetContainerName", "")
        if name in names:
            errors.append(duplicate(f"{here}.name", name))
        names.add(name)
        if target and target not in others:
            errors.append(not_found(f"{here}.targetContainerName", target))
        errors += [forbidden(f"{here}.{field}", _CANNOT) for field in _NOT_FOR_THEM if container.get(field)]
        errors += [
            forbidden(f"{here}.volumeMounts[{at}].{field}", _CANNOT)
            for at, mount in enumerate(container.get("volumeMounts") or ())
            for field in ("subPath", "subPathExpr")
            if mount.get(field)
        ]
    return errors + _changes({one.get("name", ""): one for one in containers}, old["spec"].get("ephemeralContainers") or ())


def _changes(now: Mapping[str, Json], before: Sequence[Json]) -> list[FieldError]:
    errors: list[FieldError] = []
    for one in before:
        name = one["name"]
        if name not in now:
            errors.append(forbidden(FIELD, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif now[name] != one:
            # The original shows the difference as a Go struct.
            errors.append(forbidden(FIELD, f'existing ephemeral containers "{name}" may not be changed'))
    return errors
