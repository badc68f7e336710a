"""Admission of many pods of one template: the first in full, the others by what differs from it.

Pods of a role differ in names, labels, annotations and variables. Whatever else differs, a pod is admitted in full; a test holds
the short way to the long one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from shunter.api.meta import Json
from shunter.migrate.pods.admission import GENERATED, PriorityClasses, admitted, uid_of

_MAPS = ("labels", "annotations")
_OF_A_POD = ("name", "generateName", *_MAPS)


def admitted_pods(pods: Iterable[Json], classes: PriorityClasses) -> Iterator[Json]:
    """Each pod as it is stored, in the order given. Raises RefusedError."""
    first: Json = {}
    stored: Json = {}
    for pod in pods:
        env = _environments(pod, first, stored) if first and _same_but_own(pod, first) else None
        if env is None:
            first, stored = pod, admitted(pod, classes)
            yield stored
        else:
            yield _like(stored, pod, first, env)


def _same_but_own(pod: Json, first: Json) -> bool:
    """Whether nothing differs but what each pod has for itself, and variables of containers. What is shared is one object mostly,
    so this is fast."""
    own, theirs = pod["metadata"], first["metadata"]
    if _without(own, _OF_A_POD) != _without(theirs, _OF_A_POD) or any(
        _keys(own, field) != _keys(theirs, field) for field in _MAPS
    ):
        return False
    spec, other = pod["spec"], first["spec"]
    if _without(spec, ("hostname", "containers")) != _without(other, ("hostname", "containers")):
        return False
    containers, others = spec["containers"], other["containers"]
    pairs = zip(containers, others, strict=False)
    return len(containers) == len(others) and all(a is b or _without(a, ("env",)) == _without(b, ("env",)) for a, b in pairs)


def _environments(pod: Json, first: Json, stored: Json) -> list[list[Json]] | None:
    """The variables of each container as they are stored; None when one differs in more than its text."""
    found = []
    for one, another, kept in zip(*(obj["spec"]["containers"] for obj in (pod, first, stored)), strict=True):
        ours, theirs, known = (container.get("env") or [] for container in (one, another, kept))
        if len(ours) != len(theirs) or len(known) != len(ours):
            return None
        variables = []
        for variable, model, done in zip(ours, theirs, known, strict=True):
            if variable is model or variable == model:
                variables.append(done)
            elif _is_text(variable) and model.keys() == variable.keys():
                variables.append({"name": variable["name"], "value": variable["value"]})
            else:
                return None
        found.append(variables)
    return found


def _is_text(variable: Json) -> bool:
    return variable.keys() == {"name", "value"} and isinstance(variable["value"], str) and variable["value"] != ""


def _like(stored: Json, pod: Json, first: Json, env: list[list[Json]]) -> Json:
    own = pod["metadata"]
    metadata: Json = {**stored["metadata"], **{key: own[key] for key in ("name", "generateName") if key in own}}
    if "name" not in own:
        metadata["name"] = metadata["generateName"] + GENERATED
    for field in _MAPS:
        if field in stored["metadata"]:
            before = first["metadata"].get(field) or {}
            added = {key: value for key, value in stored["metadata"][field].items() if key not in before}
            metadata[field] = {**(pod["metadata"].get(field) or {}), **added}
    spec: Json = {**stored["spec"], **({"hostname": pod["spec"]["hostname"]} if "hostname" in pod["spec"] else {})}
    spec["containers"] = [
        {**container, "env": variables} if variables else container
        for container, variables in zip(stored["spec"]["containers"], env, strict=True)
    ]
    made = {**stored, "metadata": metadata, "spec": spec}
    metadata["uid"] = uid_of(made)
    return made


def _keys(metadata: Json, field: str) -> list[str]:
    return [*(metadata.get(field) or {})]


def _without(value: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in fields}
