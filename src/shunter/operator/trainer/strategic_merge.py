"""Strategic merge of a patch into a JobSetSpec, as Kubernetes' library does it for Go's JobSet types.

Maps merge key by key. Lists of named things merge by their key: the patch's entries stay in the patch's order, and each of the
others stands before the first of them that came later in the original. All other lists are replaced.
"""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json
from shunter.operator.trainer.model import BuildError

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
    """The original with the patch merged in; neither is changed. Empty values of the patch say nothing, as in Go's encoding.
    Raises BuildError for entries of a list that cannot be told apart."""
    merged = {**original}
    for field, value in patch.items():
        present = merged.get(field)
        if value is None or value == [] or value == "":
            continue
        if isinstance(value, dict):
            merged[field] = strategic_merge(present if isinstance(present, dict) else {}, value)
        elif isinstance(value, list) and field in MERGE_KEYS:
            merged[field] = _merged_list(present or [], value, field)
        else:
            merged[field] = value
    return merged


def _merged_list(original: Any, patch: list[Any], field: str) -> list[Json]:
    if not isinstance(original, list):
        raise BuildError(f"{field} must be a list, not {original!r}")
    places: dict[Any, int] = {_key(item, field): place for place, item in enumerate(original)}
    keys = [_key(item, field) for item in patch]
    patched = [
        strategic_merge(original[places[key]] if key in places else {}, item) for key, item in zip(keys, patch, strict=True)
    ]
    others = [item for item in original if _key(item, field) not in keys]
    merged: list[Json] = []
    for key, item in zip(keys, patched, strict=True):
        place = places.get(key)
        while place is not None and others and places[_key(others[0], field)] < place:
            merged.append(others.pop(0))
        merged.append(item)
    return merged + others


def _key(item: Any, field: str) -> Any:
    """What tells an entry of this list from others. A key that is not there is empty, as in Go's types."""
    if not isinstance(item, dict):
        raise BuildError(f"an entry of {field} must be an object, not {item!r}")
    key = item.get(MERGE_KEYS[field]) or ""
    if isinstance(key, dict | list):
        raise BuildError(f"{MERGE_KEYS[field]} of an entry of {field} must be a string or a number, not {key!r}")
    return key
