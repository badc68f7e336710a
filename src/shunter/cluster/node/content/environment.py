"""The environment, command and arguments of a container. Pure.

Source: kubelet 1.36 `makeEnvironmentVariables`: envFrom first, env after it in order, later names win, and a value may refer
to names set before it only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shunter.api.meta import Json
from shunter.cluster.node.content.downward import PodContext, field_value, named_container, resource_value
from shunter.cluster.node.content.expansion import expand, expand_all
from shunter.cluster.node.content.references import MissingSourceError, Sources


def declared_environment(
    pod: Json, container: Json, *, sources: Sources, context: PodContext, given: Mapping[str, str] = {}
) -> dict[str, str]:
    """The environment that the pod declares; it overrides the image's. Values may also refer to `given` variables.

    Raises MissingSourceError when a ConfigMap, Secret or key that is not optional does not exist, ValueError for a reference that
    Kubernetes does not offer.
    """
    declared: dict[str, str] = {}
    known = dict(given)
    for source in container.get("envFrom") or ():
        for kind, find in (("configMapRef", sources.config_map), ("secretRef", sources.secret)):
            if kind in source:
                entries = find(source[kind].get("name", ""), optional=bool(source[kind].get("optional")))
                prefix = source.get("prefix", "")
                declared.update({prefix + key: value.decode() for key, value in (entries or {}).items()})
    known.update(declared)
    for variable in container.get("env") or ():
        value = _value(variable, pod, container, known, sources, context)
        if value is not None:
            declared[variable["name"]] = known[variable["name"]] = value
    return declared


def unsupported_source(container: Json) -> str:
    """The error for a variable whose source this node does not support; empty when there is none."""
    for variable in container.get("env") or ():
        if "fileKeyRef" in (variable.get("valueFrom") or {}):
            return f"variable {variable['name']}: fileKeyRef is not supported by this node"
    return ""


def program(container: Json, declared: Mapping[str, str], entrypoint: Sequence[str] = ()) -> list[str]:
    """The container's command, else the image's entrypoint, then args, with their `$(VAR)` expanded. Where neither is there, the
    first of the args is the program, as in an image without an ENTRYPOINT. Raises ValueError when nothing to run."""
    command = expand_all(container.get("command") or (), declared) or [*entrypoint]
    arguments = expand_all(container.get("args") or (), declared)
    if not command and not arguments:
        raise ValueError(f'container "{container["name"]}" has neither command nor args. {_no_entrypoint(container)}')
    return command + arguments


def unknown_program(container: Json, entrypoint: Sequence[str] = ()) -> str:
    """What to say when the program does not exist and is the first of args: the real image may well have an ENTRYPOINT that these
    are meant for. Empty when the spec names the program."""
    if container.get("command") or entrypoint:
        return ""
    return f"The first item of args is used as the program. {_no_entrypoint(container)}"


def _no_entrypoint(container: Json) -> str:
    image = container.get("image", "")
    remedy = "Set `command` in the pod template, or `entrypoint` for the image in the file of `--images`."
    return f'Image "{image}" maps to a local environment without an ENTRYPOINT. {remedy}'


def _value(
    variable: Json, pod: Json, container: Json, known: Mapping[str, str], sources: Sources, context: PodContext
) -> str | None:
    """None when the variable's optional source does not exist: the variable is left out."""
    if variable.get("value"):
        return expand(str(variable["value"]), known)
    source = variable.get("valueFrom") or {}
    if "fieldRef" in source:
        return field_value(source["fieldRef"]["fieldPath"], pod, context)
    if "resourceFieldRef" in source:
        name = source["resourceFieldRef"].get("containerName")
        return resource_value(source["resourceFieldRef"], named_container(pod, name) if name else container, context)
    for kind, title, find in (
        ("configMapKeyRef", "ConfigMap", sources.config_map),
        ("secretKeyRef", "Secret", sources.secret),
    ):
        if kind in source:
            reference = source[kind]
            optional = bool(reference.get("optional"))
            entries = find(reference.get("name", ""), optional=optional)
            if entries is not None and reference["key"] in entries:
                return entries[reference["key"]].decode()
            if optional:
                return None
            namespace = pod["metadata"].get("namespace", "")
            raise MissingSourceError(f"couldn't find key {reference['key']} in {title} {namespace}/{reference.get('name', '')}")
    return ""
