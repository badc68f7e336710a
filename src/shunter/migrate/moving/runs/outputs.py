"""The places to which a run writes and that other runs can share: claims, node directories, network volumes, buckets, tracker
runs.

A container's own file system is not shared; a path on a volume is identified by the volume. Whether an address is read or written
is decided by the name of its flag or variable: everything that does not look like an input counts as an output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.node.content.expansion import expand
from shunter.migrate.moving.runs.program import settings
from shunter.migrate.pods.effective import effective_container

_ADDRESS = re.compile(r"\b(?:s3a?|gs|gcs|abfss?|wasbs?|az|hdfs|oss|swift)://\S+")
_INPUT = re.compile(
    r"data|input|train[-_]?(?:file|set|path|dir)|valid|test|eval|token|vocab|pretrain|base[-_]?model|model[-_]name|config|load|resume"
    r"|from|index|script|requirements|endpoint|registry",
    re.I,
)
_TRACKED = re.compile(r"MLFLOW_RUN_ID|WANDB_RUN_ID|NEPTUNE_(?:CUSTOM_)?RUN_ID|COMET_EXPERIMENT_KEY|CLEARML_TASK_ID")
_OF_THE_MACHINE = ("/dev", "/sys", "/proc", "/etc/localtime", "/usr/share/zoneinfo", "/lib/modules", "/usr/local/nvidia")
"""Directories of a node in which no results are stored."""
_OWN = frozenset({"emptyDir", "configMap", "secret", "downwardAPI", "projected", "ephemeral", "image", "gitRepo"})
"""Kinds of volumes that are a pod's own, or read-only."""


class Output(NamedTuple):
    """A place to which a run writes. Runs with equal outputs write to the same place."""

    kind: str
    where: str

    def __str__(self) -> str:
        return f"{self.kind} {self.where}"


def shared(original: Iterable[Json], trial: Iterable[Json]) -> list[Output]:
    """The outputs that both sets of pods have, in the order of the original's."""
    theirs = {output for pod in trial for output in outputs(pod)}
    return list(dict.fromkeys(output for pod in original for output in outputs(pod) if output in theirs))


def outputs(pod: Json) -> Iterator[Output]:
    """All places outside the pod to which its containers write."""
    spec = pod["spec"]
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or []}
    for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
        effective = effective_container(pod, container)
        for mount in container.get("volumeMounts") or []:
            below = mount.get("subPath") or expand(mount.get("subPathExpr") or "", effective.environment)
            output = _on_volume(pod, volumes.get(mount["name"], {}), mount, below.strip("/"))
            if output is not None:
                yield output
        for name, value in settings([*(effective.command or []), *effective.arguments], effective.environment):
            if _TRACKED.fullmatch(name):
                yield Output("run", f"{name}={value}")
            elif not _INPUT.search(name):
                yield from (Output("address", match[0].rstrip("'\",;/)")) for match in _ADDRESS.finditer(value))


def _on_volume(pod: Json, volume: Json, mount: Json, part: str) -> Output | None:
    """`part` is the directory in the volume that is mounted, empty for all of it."""
    if mount.get("readOnly"):
        return None
    kind = next((field for field in volume if field != "name"), "emptyDir")
    source = volume.get(kind) or {}
    below = f"/{part}" if part else ""
    if kind in _OWN or source.get("readOnly"):
        return None
    if kind == "persistentVolumeClaim":
        return Output("PersistentVolumeClaim", f"{pod['metadata'].get('namespace', '')}/{source.get('claimName')}{below}")
    if kind == "hostPath":
        directory = str(source.get("path", "")).rstrip("/") or "/"
        is_machine = any(f"{directory}/".startswith(f"{known}/") for known in _OF_THE_MACHINE)
        return None if is_machine else Output("hostPath", f"{directory}{below}")
    return Output(f"{kind} volume", f"{_address(source)}{below}")


def _address(source: Json) -> str:
    return " ".join(str(value) for _, value in sorted(source.items()) if isinstance(value, str))
