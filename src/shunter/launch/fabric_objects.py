"""A fabric in objects: in a TrainJob, as far as that can carry it, and in a runtime. Pure."""

from __future__ import annotations

import copy

from shunter.api.meta import Json
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import ANCESTOR_TRAINER, NODE
from shunter.fabrics import INSTANCE_LABEL
from shunter.launch.annotations import FABRIC, FABRIC_SOURCE
from shunter.launch.fabric import Fabric
from shunter.operator.trainer.upserts import upsert_env, upsert_mounts, upsert_volumes

FABRIC_MANAGER = "shunter.dev/fabric"
"""Whose patch of the runtime it is."""


def with_fabric(job: Json, fabric: Fabric) -> Json:
    """The TrainJob with variables, devices, volumes, annotations and node labels of a fabric. What the job says itself stays.
    Sidecars, which no TrainJob can add, are for `with_sidecars`."""
    changed = copy.deepcopy(job)
    metadata, spec = changed["metadata"], changed["spec"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), FABRIC: fabric.profile.name}
    trainer = spec.setdefault("trainer", {})
    given = {variable["name"] for variable in trainer.get("env") or ()}
    trainer["env"] = [*(one for one in _variables(fabric) if one["name"] not in given), *(trainer.get("env") or ())]
    _add_devices(trainer, "resourcesPerNode", fabric)
    patch = {"template": {"spec": {"replicatedJobs": [{"name": NODE, "template": {"spec": {"template": _pods(fabric)}}}]}}}
    others = [one for one in spec.get("runtimePatches") or () if one["manager"] != FABRIC_MANAGER]
    spec["runtimePatches"] = [*others, {"manager": FABRIC_MANAGER, "trainingRuntimeSpec": patch}]
    return changed


def runtime_with_fabric(runtime: Json, fabric: Fabric) -> Json:
    """A runtime whose training pods have all of it."""
    changed = with_sidecars(runtime, fabric)
    metadata = changed["metadata"]
    marks = {FABRIC: fabric.profile.name, FABRIC_SOURCE: fabric.source}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **marks}
    pods = _pods(fabric)
    for template, container in _trained(changed):
        upsert_env(container, _variables(fabric))
        _add_devices(container, "resources", fabric)
        spec = template["spec"]
        upsert_volumes(spec.setdefault("volumes", []), pods["spec"].get("volumes", ()))
        for patched in pods["spec"].get("containers", ()):
            upsert_mounts(container, patched.get("volumeMounts", ()))
            if added := patched.get("securityContext", {}).get("capabilities", {}).get("add"):
                capabilities = container.setdefault("securityContext", {}).setdefault("capabilities", {})
                capabilities["add"] = list(dict.fromkeys([*(capabilities.get("add") or ()), *added]))
        if selector := pods["spec"].get("nodeSelector"):
            spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}
        if annotations := pods.get("metadata", {}).get("annotations"):
            place = template.setdefault("metadata", {})
            place["annotations"] = {**(place.get("annotations") or {}), **annotations}
    return changed


def with_sidecars(runtime: Json, fabric: Fabric) -> Json:
    """A runtime whose training pods have the sidecars of a fabric, and their volumes."""
    changed = copy.deepcopy(runtime)
    names = {mount["name"] for sidecar in fabric.profile.sidecars for mount in sidecar.get("volumeMounts", ())}
    for template, _ in _trained(changed):
        for sidecar in fabric.profile.sidecars:
            upsert_volumes(template["spec"].setdefault("initContainers", []), [copy.deepcopy(sidecar)])
        needed = [copy.deepcopy(volume) for volume in fabric.profile.volumes if volume["name"] in names]
        if needed:
            upsert_volumes(template["spec"].setdefault("volumes", []), needed)
    return changed


def _variables(fabric: Fabric) -> list[Json]:
    return [{"name": variable.name, "value": variable.value} for variable in fabric.environment]


def _pods(fabric: Fabric) -> Json:
    """What pods get beside variables and devices, as a patch of their template."""
    profile = fabric.profile
    container: Json = {"name": NODE, "volumeMounts": copy.deepcopy(list(profile.mounts))}
    if profile.capabilities:
        container["securityContext"] = {"capabilities": {"add": list(profile.capabilities)}}
    spec: Json = {"volumes": copy.deepcopy(list(profile.volumes)), "containers": [container]}
    if fabric.instance:
        spec["nodeSelector"] = {INSTANCE_LABEL: fabric.instance}
    return {**({"metadata": {"annotations": dict(profile.annotations)}} if profile.annotations else {}), "spec": spec}


def _trained(runtime: Json) -> list[tuple[Json, Json]]:
    """The pod templates of the training nodes, each with its main container."""
    return [
        (job["template"]["spec"]["template"], container)
        for job in templates.replicated_jobs(runtime["spec"].get("template") or {})
        if templates.ancestor(job) == ANCESTOR_TRAINER
        for container in templates.containers(job)
        if container["name"] == NODE
    ]


def _add_devices(holder: Json, field: str, fabric: Fabric) -> None:
    if fabric.device:
        resources = holder.setdefault(field, {})
        for amounts in ("requests", "limits"):
            resources[amounts] = {**(resources.get(amounts) or {}), fabric.device: str(fabric.count)}
