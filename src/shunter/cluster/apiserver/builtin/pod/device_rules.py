"""Block devices of a container: volumes that it gets without a file system.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`.
"""

from __future__ import annotations

from collections.abc import Mapping

from shunter.api.field_errors import FieldError, invalid, not_found, required
from shunter.api.meta import Json
from shunter.cluster.apiserver.builtin.pod.volume_rules import backstep_errors

_SOURCES = {"persistentVolumeClaim", "ephemeral"}


def device_errors(container: Json, volumes: Mapping[str, Json], field: str) -> list[FieldError]:
    """The `volumeDevices` of a container, by the volumes of its pod."""
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts") or ()}
    errors: list[FieldError] = []
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        here, name, path = f"{field}.volumeDevices[{index}]", device.get("name", ""), device.get("devicePath", "")
        if not name:
            errors.append(required(f"{here}.name"))
        if name in names:
            errors.append(invalid(f"{here}.name", name, "must be unique"))
        if name not in volumes:
            errors.append(not_found(f"{here}.name", name))
        elif not _SOURCES & volumes[name].keys():
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(f"{here}.name", name, detail))
        if not path:
            errors.append(required(f"{here}.devicePath"))
        if path in paths:
            errors.append(invalid(f"{here}.devicePath", path, "must be unique"))
        if backstep_errors(path, here):
            errors.append(invalid(f"{here}.devicePath", path, "can not contain backsteps ('..')"))
        else:
            paths.add(path)
        if name in mounts:
            errors.append(invalid(f"{here}.name", name, "must not already exist in volumeMounts"))
        if path in mounts.values():
            errors.append(invalid(f"{here}.devicePath", path, "must not already exist as a path in volumeMounts"))
        names |= {name} - {""}
    return errors
