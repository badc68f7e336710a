"""Strategic merge of a patch into a JobSetSpec, as Kubernetes' library does it for Go's JobSet types (3.5).

Maps merge key by key. Lists of named things merge by their key: the patch's entries stay in the patch's order, and each of the
others stands before the first of them that came later in the original. All other lists are replaced.
"""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json

MERGE_KEYS = {
    "replicatedJobs": "name",
    "dependsOn": "name",
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
}
"""Lists that merge, by field name, and the key of their entries."""


def strategic_merge(original: Json, patch: Json) -> Json:
    """The original with the patch merged in; neither is changed. Empty values of the patch say nothing, as in Go's encoding."""
    merged = {**original}
    for field, value in patch.items():
        present = merged.get(field)
        if value is None or value == [] or value == "":
            continue
        if isinstance(value, dict):
            merged[field] = strategic_merge(present if isinstance(present, dict) else {}, value)
        elif isinstance(value, list) and field in MERGE_KEYS:
            merged[field] = _merged_list(present or [], value, MERGE_KEYS[field])
        else:
            merged[field] = value
    return merged


def _merged_list(original: list[Json], patch: list[Json], key: str) -> list[Json]:
    places: dict[Any, int] = {item.get(key): place for place, item in enumerate(original)}
    patched = [strategic_merge(original[places[item[key]]] if item[key] in places else {}, item) for item in patch]
    touched = {item[key] for item in patch}
    others = [item for item in original if item.get(key) not in touched]
    merged: list[Json] = []
    for item in patched:
        place = places.get(item[key])
        while place is not None and others and places[others[0].get(key)] < place:
            merged.append(others.pop(0))
        merged.append(item)
    return merged + others
