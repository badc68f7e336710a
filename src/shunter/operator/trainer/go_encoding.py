"""What Go's encoder leaves out (`omitempty`): upstream, runtimes and patches of them pass through its types.

Source: the struct tags of k8s.io/api 0.36 and JobSet 0.12. Only fields that a runtime's snapshot or a patch can have are listed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

STRING_MAPS = frozenset(
    {"annotations", "labels", "matchLabels", "nodeSelector", "options", "userAnnotations", "volumeAttributes"}
)
"""Maps from string to string, by field name: an empty string is a value there, as of the label `node-role.kubernetes.io/gpu`."""
_EMPTY_TEXTS = frozenset({"action", "name", "serviceAccountName", "storageClassName", "volumeAttributesClassName"})
"""Texts that are written when they are empty, as they are pointers or always written. A claim with an empty storageClassName
wants no class."""
_POINTERS_WITHIN = {"csi": frozenset({"readOnly"})}
_SWITCHES = frozenset({"chapAuthDiscovery", "chapAuthSession", "readOnly", "sslEnabled"})
"""Booleans that are no pointers: false is not written, so a patch does not make a mount writable."""
_NUMBERS = frozenset({"maxRestarts", "partition"})


def without_empty(value: Any, pointers: Collection[str] = frozenset()) -> Any:
    """A part of a JobSetSpec without fields that Go does not write; items of lists stay. `pointers` are fields of the object
    itself that are written even if they are empty. Equal, and shared with the original, where nothing is left out of a string
    map."""
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: part if name in STRING_MAPS else without_empty(part, _POINTERS_WITHIN.get(name, ()))
        for name, part in value.items()
        if not _is_left_out(name, part, pointers)
    }


def _is_left_out(name: str, value: Any, pointers: Collection[str]) -> bool:
    if value is None or value == []:
        return True
    if value == "":
        return name not in _EMPTY_TEXTS
    if value is False:
        return name in _SWITCHES and name not in pointers
    return value == 0 and not isinstance(value, bool) and name in _NUMBERS
