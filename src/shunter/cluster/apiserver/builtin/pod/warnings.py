"""What is accepted in a pod or a pod template but probably not meant; the texts go into Warning headers.

Source: k8s.io/kubernetes 1.36 `pkg/api/pod/warnings.go`, less what is about fields and annotations of old.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.api.names import label_faults
from shunter.cluster.apiserver.kinds import Objects

_BYTES = ("memory", "ephemeral-storage")
_PORT = {"name": "", "hostPort": 0, "containerPort": 0, "protocol": "", "hostIP": ""}
_DEAD_VOLUMES = {
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
}


def pod_spec_warnings(spec: Json, field: str) -> list[str]:
    """`field` is the path of the spec, e.g. `spec.template.spec`."""
    found: list[str] = []
    found += _dead_volumes(spec.get("volumes") or (), f"{field}.volumes")
    found += _empty_projections(spec.get("volumes") or ())
    found += _spreads_of_none(spec.get("topologySpreadConstraints") or (), f"{field}.topologySpreadConstraints")
    found += _repeated(spec.get("hostAliases"), f"{field}.hostAliases", "ip")
    found += _repeated(spec.get("imagePullSecrets"), f"{field}.imagePullSecrets", "name")
    containers = list(_containers(spec, field))
    for container, path in containers:
        found += _fractions(container.get("resources") or {}, f"{path}.resources")
        found += _hidden_variables(container.get("env") or (), f"{path}.env")
    found += _port_warnings(containers)
    for name in _BYTES:
        found += _fraction(spec.get("overhead") or {}, name, f"{field}.overhead")
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        where = f"{field}.terminationGracePeriodSeconds"
        found.append(f"{where}: must be >= 0; negative values are invalid and will be treated as 1")
    return found


def _dead_volumes(volumes: Sequence[Json], field: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        for kind, since in _DEAD_VOLUMES.items():
            if kind in volume:
                yield f"{field}[{index}].{kind}: {since}"


def _empty_projections(volumes: Sequence[Json]) -> Iterator[str]:
    for volume in volumes:
        for source in volume.get("projected", {}).get("sources") or ():
            if not source:
                yield f'volume "{volume["name"]}" (Projected) has no sources provided'


def _spreads_of_none(constraints: Sequence[Json], field: str) -> Iterator[str]:
    for index, constraint in enumerate(constraints):
        if "labelSelector" not in constraint:
            yield f"{field}[{index}].labelSelector: a null labelSelector results in matching no pod"


def template_warnings(obj: Json, old: Json | None, objects: Objects) -> list[str]:
    """The warnings about `spec.template`, when the object is new or its spec has changed."""
    return pod_spec_warnings(obj["spec"]["template"]["spec"], "spec.template.spec") if is_changed(obj, old) else []


def pod_template_warnings(obj: Json, old: Json | None, objects: Objects) -> list[str]:
    """The warnings about a PodTemplate, when it is new or its template has changed."""
    return pod_spec_warnings(obj["template"]["spec"], "template.spec") if is_changed(obj, old) else []


def named_template_warnings(obj: Json, old: Json | None, objects: Objects) -> list[str]:
    """The warnings about `spec.template`, and about a name with which no pod has a good one."""
    return name_warnings(obj, old) + template_warnings(obj, old, objects)


def name_warnings(obj: Json, old: Json | None) -> list[str]:
    """The warning about the name of a new object, if it is no DNS label: those of its pods begin with it."""
    found = label_faults(obj["metadata"]["name"]) if old is None else []
    where = "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior"
    return [f"{where}; a DNS label is recommended: [{' '.join(found)}]"] if found else []


def is_changed(obj: Json, old: Json | None) -> bool:
    """Whether the object is new or its spec has changed."""
    return old is None or obj["metadata"].get("generation") != old["metadata"].get("generation")


def _containers(spec: Json, field: str) -> Iterator[tuple[Json, str]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield container, f"{field}.{kind}[{index}]"


def _repeated(items: list[Json] | None, field: str, key: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items or ()):
        value = item.get(key, "")
        if value in seen:
            yield f'{field}[{index}].{key}: duplicate {key} "{value}"'
        elif not value and key == "name":
            yield f'{field}[{index}].{key}: invalid empty name ""'
        seen.add(value)


def _fractions(resources: Json, field: str) -> Iterator[str]:
    for name in _BYTES:
        for kind in ("limits", "requests"):
            yield from _fraction(resources.get(kind) or {}, name, f"{field}.{kind}")


def _fraction(amounts: Json, name: str, field: str) -> Iterator[str]:
    value = amounts.get(name)
    if value is not None and not _is_whole(value):
        yield f'{field}[{name}]: fractional byte value "{value}" is invalid, must be an integer'


def _is_whole(value: str) -> bool:
    try:
        return parse(value) % 1 == 0
    except ValueError:
        return True


def _hidden_variables(variables: Sequence[Json], field: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == reference or reference not in value):
            yield f'{field}[{index}]: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)


def _port_warnings(containers: list[tuple[Json, str]]) -> Iterator[str]:
    for container, path in containers:
        for index, port in enumerate(container.get("ports") or ()):
            if port.get("hostIP") and not port.get("hostPort"):
                shown = " ".join(f"{name[0].upper()}{name[1:]}:{port.get(name, otherwise)}" for name, otherwise in _PORT.items())
                yield f"{path}.ports[{index}]: hostIP set without hostPort: {{{shown}}}"
    ports = [
        (port, f"{path}.ports[{index}]")
        for container, path in containers
        for index, port in enumerate(container.get("ports") or ())
    ]
    names: dict[str, str] = {}
    for number, (port, here) in enumerate(ports):
        for other, there in ports[:number]:
            if all(port.get(name) == other.get(name) for name in ("containerPort", "protocol")):
                how = _collision(port, other)
                if how:
                    yield f"{here}: {how} port definition with {there}"
        if name := port.get("name"):
            if name in names:
                which = names[name]
                yield (
                    f'{here}: duplicate port name "{name}" with {which}, services and probes that select ports by name will use '
                    f"{which}"
                )
            names.setdefault(name, here)


def _collision(port: Json, other: Json) -> str:
    ours, theirs = ((one.get("hostIP", ""), one.get("hostPort", 0)) for one in (port, other))
    if ours == theirs:
        return "duplicate"
    if not ours[1] or not theirs[1]:
        return "overlapping"
    return "dangerously ambiguous" if ours[1] == theirs[1] and bool(ours[0]) != bool(theirs[0]) else ""
