"""Fields of pods that came after Training Operator v1: its CRDs do not have them, those of Trainer and JobSet do.

Source: Training Operator v1.9 is built with the API of Kubernetes 1.31. A test holds the table to the published schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from shunter.migrate.paths import Path

_CONTAINERS = ("containers", "initContainers")
_OF_CONTAINERS: Mapping[Path, str] = {
    ("lifecycle", "stopSignal"): "1.33",
    ("restartPolicyRules",): "1.34",
    ("env", "*", "valueFrom", "fileKeyRef"): "1.34",
}
SINCE: Mapping[Path, str] = {
    ("resources",): "1.32",
    ("securityContext", "seLinuxChangePolicy"): "1.32",
    ("hostnameOverride",): "1.34",
    ("volumes", "*", "projected", "sources", "*", "podCertificate"): "1.34",
    ("schedulingGroup",): "1.36",
    **{(field, "*", *path): since for field, (path, since) in product(_CONTAINERS, _OF_CONTAINERS.items())},
}
"""Fields of a pod's spec, `*` for each entry of a list, and the release of Kubernetes that brought them."""


class NewerField(NamedTuple):
    """A field that a pod's spec has, and the release of Kubernetes that brought it."""

    path: Path
    since: str


def newer_fields(spec: Any) -> Iterator[NewerField]:
    """The newer fields that a pod's spec sets, whatever their types; an empty string counts: v2 rejects it."""
    for path, since in SINCE.items():
        for found in _found(spec, path):
            yield NewerField(found, since)


def _found(value: Any, path: Path, before: Path = ()) -> Iterator[Path]:
    if not path:
        if value not in (None, {}, []):
            yield before
    elif path[0] == "*":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _found(item, path[1:], (*before, index))
    elif isinstance(value, dict) and path[0] in value:
        yield from _found(value[path[0]], path[1:], (*before, path[0]))
