"""Adding to a container's lists as upstream's builders do: an entry of the same key is replaced where it stands."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.meta import Json


def upsert_env(container: Json, variables: Iterable[Json]) -> None:
    """Adds environment variables by name."""
    env = container.setdefault("env", [])
    places = {variable.get("name"): place for place, variable in enumerate(env)}
    for variable in variables:
        place = places.get(variable["name"])
        if place is None:
            places[variable["name"]] = len(env)
            env.append(variable)
        else:
            env[place] = variable
    if not env:
        del container["env"]


def upsert_mounts(container: Json, mounts: Iterable[Json]) -> None:
    """Adds volume mounts by their path."""
    _upsert(container.setdefault("volumeMounts", []), mounts, "mountPath")


def upsert_volumes(volumes: list[Json], added: Iterable[Json]) -> None:
    """Adds volumes by name."""
    _upsert(volumes, added, "name")


def upsert_port(container: Json, port: Json) -> None:
    """Adds a port. One of the same number or name, and an unnamed one if it has no name itself, gives way to it.

    Only the first such port does: upstream replaces all of them, and makes duplicates that the API server then refuses.
    """
    ports = container.setdefault("ports", [])
    for place, present in enumerate(ports):
        if present.get("containerPort") == port["containerPort"] or present.get("name", "") == port.get("name", ""):
            ports[place] = port
            return
    ports.append(port)


def _upsert(items: list[Json], added: Iterable[Json], key: str) -> None:
    for item in added:
        place = next((place for place, present in enumerate(items) if present.get(key) == item[key]), None)
        if place is None:
            items.append(item)
        else:
            items[place] = item


def applied_env(variables: Iterable[Json]) -> list[Json]:
    """The variables of a TrainJob as upstream applies them: a value is always written, and defaults of valueFrom are left out."""
    return [_applied(variable) for variable in variables]


def _applied(variable: Json) -> Json:
    source = variable.get("valueFrom")
    if source is None:
        return {"name": variable["name"], "value": variable.get("value", "")}
    return {
        "name": variable["name"],
        "valueFrom": {kind: _reference(kind, reference) for kind, reference in source.items() if reference is not None},
    }


def _reference(kind: str, reference: Json) -> Json:
    if kind == "fieldRef":
        return {"fieldPath": reference.get("fieldPath", "")}
    if kind == "resourceFieldRef":
        return {"containerName": "", "divisor": "0", **reference}
    return reference
