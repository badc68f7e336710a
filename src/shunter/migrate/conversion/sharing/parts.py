"""A runtime taken apart: the parts that a TrainJob may say in its place (trainer section, patch), and the frame around them.

Two jobs whose frames are equal can share a runtime, whatever their parts. Which parts a job may say depends on its framework and
on the Trainer that it is for, so those that it may not are left in the frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from shunter.api.meta import Json, as_json
from shunter.api.trainer.runtime import ANCESTOR_LABEL, ANCESTOR_TRAINER, NODE
from shunter.migrate.conversion.rules.pods.environment import references, reserved
from shunter.migrate.conversion.rules.trainer import OF_THE_TRAINER, fits
from shunter.migrate.paths import Path

TRAINER = "trainer"
Part: TypeAlias = Path
"""Names a part: `("trainer", "image")`, `("trainer", "env", "NCCL_DEBUG")`, `("node", "spec", "volumes", "data")` of a replicated
job's pods, `("node", "containers", "sidecar", "volumeMounts")`. Its last step is the key where a list or mapping is said item by
item."""
Parts: TypeAlias = Mapping[Part, Any]

_BY_KEY = ("labels", "annotations")
_BY_NAME = ("volumes", "imagePullSecrets", "schedulingGates")
_WHOLE = ("serviceAccountName", "securityContext", "affinity", "tolerations", "terminationGracePeriodSeconds")
_CONTAINERS = ("initContainers", "containers")
_OF_CONTAINERS = ("volumeMounts", "securityContext")


class RuntimeParts(NamedTuple):
    """Together they say what the runtime and the trainer section said."""

    frame: Json
    """The runtime's spec without the parts."""
    parts: dict[Part, Any]
    """In the order in which they stand in the runtime."""


def split_into_parts(spec: Json, trainer: Json, *, patches: bool) -> RuntimeParts:
    """The spec of a runtime and the trainer section of a TrainJob of it, as one. `patches` says whether the TrainJob may have
    runtimePatches."""
    frame = as_json(spec)
    parts: dict[Part, Any] = {}
    for job in replicated_jobs(frame):
        container = training_container(job)
        if container is not None:
            parts |= _of_trainer(container, trainer, frame.get("mlPolicy") or {})
        if patches:
            parts |= _of_pods(job)
    return RuntimeParts(frame, parts)


def joined_from_parts(taken: RuntimeParts, parts: Parts) -> Json:
    """The spec of a runtime that says these parts, in the order of `taken`."""
    spec = as_json(taken.frame)
    jobs = {job["name"]: job for job in replicated_jobs(spec)}
    trains = next((container for job in jobs.values() if (container := training_container(job)) is not None), None)
    for part in [*(part for part in taken.parts if part in parts), *(part for part in parts if part not in taken.parts)]:
        if part[0] == TRAINER:
            assert trains is not None, "the frame has the container that trains"
            _put_in_container(trains, part[1:], parts[part])
        else:
            pod = jobs[str(part[0])]["template"]["spec"]["template"]
            _put_in_pod(pod, part[1:], parts[part])
    return spec


def replicated_jobs(spec: Json) -> list[Json]:
    """The replicated jobs of a runtime's spec, not copied."""
    found: list[Json] = spec["template"]["spec"]["replicatedJobs"]
    return found


def training_container(job: Json) -> Json | None:
    """The container that the trainer section is about, if the replicated job has it."""
    labels = (job["template"].get("metadata") or {}).get("labels") or {}
    containers = job["template"]["spec"]["template"]["spec"]["containers"]
    is_trainer = labels.get(ANCESTOR_LABEL) == ANCESTOR_TRAINER
    return next((one for one in containers if one.get("name") == NODE), None) if is_trainer else None


def patch_of(parts: Parts) -> Json:
    """The template of a patch that says these parts: those of pods."""
    pods: dict[str, Json] = {}
    for part, value in parts.items():
        pod = pods.setdefault(str(part[0]), {"spec": {}})
        if part[1] in _CONTAINERS:
            containers = pod["spec"].setdefault(part[1], [])
            container = next((one for one in containers if one["name"] == part[2]), None)
            if container is None:
                container = {"name": part[2]}
                containers.append(container)
            container[part[3]] = value
        else:
            _put_in_pod(pod, part[1:], value)
    jobs = [
        {"name": name, "template": {"spec": {"template": {key: inner for key, inner in pod.items() if inner}}}}
        for name, pod in pods.items()
    ]
    return {"spec": {"replicatedJobs": jobs}}


def trainer_of(parts: Parts) -> Json:
    """The trainer section that says these parts; variables in their order."""
    said: Json = {}
    for part, value in parts.items():
        name = OF_THE_TRAINER.get(str(part[1]), "env")
        if name == "env":
            said.setdefault("env", []).append(value)
        else:
            said[name] = value
    return said


def _of_trainer(container: Json, trainer: Json, policy: Json) -> dict[Part, Any]:
    """MPI gives resources and variables of the trainer section to the nodes as well, so they are no parts there."""
    fields = [field for field in OF_THE_TRAINER if "mpi" not in policy or field != "resources"]
    parts: dict[Part, Any] = {}
    for field in fields:
        name = OF_THE_TRAINER[field]
        value = trainer.get(name, container.get(field))
        if value is None or not fits(value) or (field == "resources" and value.get("claims")):
            continue
        container.pop(field, None)
        parts[TRAINER, field] = value
    if "mpi" not in policy:
        parts |= _variables(container, trainer, reserved(policy))
    return parts


def _variables(container: Json, trainer: Json, kept: frozenset[str]) -> dict[Part, Any]:
    """What v2 sets itself a TrainJob may not say, nor what is made of it: that stands behind what it says."""
    parts: dict[Part, Any] = {}
    stay: list[Json] = []
    for variable in container.get("env") or ():
        is_file = "fileKeyRef" in (variable.get("valueFrom") or {})
        if is_file or variable["name"] in kept or kept.intersection(references(variable.get("value"))):
            stay.append(variable)
        else:
            # A name alone stands in the frame: jobs of one frame have the same variables, whatever their values.
            stay.append({"name": variable["name"]})
            parts[TRAINER, "env", variable["name"]] = variable
    for variable in trainer.get("env") or ():
        parts[TRAINER, "env", variable["name"]] = variable
    if stay:
        container["env"] = stay
    return parts


def _of_pods(job: Json) -> dict[Part, Any]:
    name, pod = job["name"], job["template"]["spec"]["template"]
    parts: dict[Part, Any] = {}
    metadata, spec = pod.get("metadata") or {}, pod["spec"]
    for field in _BY_KEY:
        for key, value in (metadata.pop(field, None) or {}).items():
            parts[name, "metadata", field, key] = value
    if not metadata:
        pod.pop("metadata", None)
    for key, value in (spec.pop("nodeSelector", None) or {}).items():
        parts[name, "spec", "nodeSelector", key] = value
    for field in _BY_NAME:
        items = spec.get(field)
        if items and all(isinstance(item.get("name"), str) for item in items):
            for item in spec.pop(field):
                parts[name, "spec", field, item["name"]] = item
    for field in _WHOLE:
        if spec.get(field):
            parts[name, "spec", field] = spec.pop(field)
    for field in _CONTAINERS:
        for container in spec.get(field) or ():
            for inner in _OF_CONTAINERS:
                value = container.get(inner)
                names = [item.get("name") for item in value] if isinstance(value, list) else []
                # The schema of a patch knows mounts by the names of their volumes.
                if value and len({*names}) == len(names):
                    parts[name, field, container["name"], inner] = container.pop(inner)
    return parts


def _put_in_container(container: Json, part: Part, value: Any) -> None:
    if part[0] != "env":
        container[str(part[0])] = value
        return
    variables = container.setdefault("env", [])
    place = next((place for place, one in enumerate(variables) if one["name"] == part[1]), len(variables))
    variables[place : place + 1] = [value]


def _put_in_pod(pod: Json, part: Part, value: Any) -> None:
    section, *rest = part
    if section in _CONTAINERS:
        container = next(one for one in pod["spec"][section] if one["name"] == rest[0])
        container[str(rest[1])] = value
        return
    holder = pod.setdefault(str(section), {})
    field = str(rest[0])
    if field in _BY_NAME:
        holder.setdefault(field, []).append(value)
    elif len(rest) == 2:
        holder.setdefault(field, {})[rest[1]] = value
    else:
        holder[field] = value
