"""What the volumes of a pod may say.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`. Sources that no cluster of ours can mount are only counted.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required
from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.api.names import label_faults
from shunter.cluster.apiserver.builtin.pod.field_refs import field_ref_errors, resource_field_errors
from shunter.cluster.apiserver.field_rules import annotation_errors, driver_name_errors, faults, label_errors, one_of, unsupported

_Rule: TypeAlias = Callable[[Json, str], list[FieldError]]

_MODE_FAULT = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES = ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"]
_PERSISTENT = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)
"""What a PersistentVolume may be made of, in the order in which the server looks."""
_VOLUME_FIELDS = ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"]


def volume_errors(volumes: list[Json], pod_name: str, field: str) -> tuple[dict[str, Json], list[FieldError]]:
    """The volumes that containers may mount, by name, and the faults. `pod_name` is empty in templates."""
    mountable: dict[str, Json] = {}
    errors: list[FieldError] = []
    claims = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and "ephemeral" in volume}
    for index, volume in enumerate(volumes):
        here = f"{field}[{index}]"
        name = volume.get("name", "")
        found = _source_errors(volume, here)
        found += faults(f"{here}.name", name, label_faults(name)) if name else [required(f"{here}.name")]
        if name in mountable:
            found.append(duplicate(f"{here}.name", name))
        if found:
            errors += found
        else:
            mountable[name] = volume
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if claim in claims:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{here}.persistentVolumeClaim.claimName", claim, detail))
    return mountable, errors


def relative_path_errors(path: str, field: str) -> list[FieldError]:
    """A path inside something: relative and without `..`."""
    errors = [invalid(field, path, "must be a relative path")] if path.startswith("/") else []
    return errors + backstep_errors(path, field)


def persistent_sources(spec: Json) -> list[str]:
    """The sources of a PersistentVolume, which should have one."""
    return [name for name in _PERSISTENT if name in spec]


def persistent_source_errors(spec: Json, field: str) -> list[FieldError]:
    """What a PersistentVolume is made of."""
    return _one_of_sources(persistent_sources(spec), spec, field, {**_SOURCES, "csi": _persistent_csi, "local": _local})


def _source_errors(volume: Json, field: str) -> list[FieldError]:
    sources = [name for name in volume if name != "name"]
    ordered = sorted(sources, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    return _one_of_sources(ordered, volume, field, _SOURCES)


def _one_of_sources(names: Sequence[str], volume: Json, field: str, rules: Mapping[str, _Rule]) -> list[FieldError]:
    """The faults of the first; that there are others is a fault as well."""
    if not names:
        return [required(field, "must specify a volume type")]
    first, *others = names
    errors = rules[first](volume[first], f"{field}.{first}") if first in rules else []
    return errors + [forbidden(f"{field}.{name}", "may not specify more than 1 volume type") for name in others]


def _empty_dir(source: Json, field: str) -> list[FieldError]:
    if parse(source.get("sizeLimit", 0)) < 0:
        return [forbidden(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _host_path(source: Json, field: str) -> list[FieldError]:
    path = source.get("path", "")
    if not path:
        return [required(f"{field}.path")]
    errors = backstep_errors(path, f"{field}.path")
    kind = source.get("type", "")
    return errors if kind in _HOST_PATH_TYPES else [*errors, unsupported(f"{field}.type", kind, _HOST_PATH_TYPES)]


def _secret(source: Json, field: str) -> list[FieldError]:
    return _named("secretName", source, field) + _mode(source, "defaultMode", field) + _items(source, field)


def _config_map(source: Json, field: str) -> list[FieldError]:
    return _named("name", source, field) + _mode(source, "defaultMode", field) + _items(source, field)


def _claim(source: Json, field: str) -> list[FieldError]:
    return _named("claimName", source, field)


def _nfs(source: Json, field: str) -> list[FieldError]:
    errors = _named("server", source, field) + _named("path", source, field)
    path = source.get("path", "")
    return errors if path.startswith("/") else [*errors, invalid(f"{field}.path", path, "must be an absolute path")]


def _csi(source: Json, field: str) -> list[FieldError]:
    return driver_name_errors(f"{field}.driver", source.get("driver", ""))


def _persistent_csi(source: Json, field: str) -> list[FieldError]:
    return _csi(source, field) + _named("volumeHandle", source, field)


def _local(source: Json, field: str) -> list[FieldError]:
    path = source.get("path", "")
    return backstep_errors(path, f"{field}.path") if path else [required(f"{field}.path")]


def _image(source: Json, field: str) -> list[FieldError]:
    return _named("reference", source, field) + one_of(
        f"{field}.pullPolicy", source.get("pullPolicy", ""), ["Always", "IfNotPresent", "Never"]
    )


def _ephemeral(source: Json, field: str) -> list[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return [required(f"{field}.volumeClaimTemplate")]
    metadata, place = template.get("metadata") or {}, f"{field}.volumeClaimTemplate.metadata"
    errors = annotation_errors(metadata.get("annotations") or {}, f"{place}.annotations")
    errors += label_errors(metadata.get("labels") or {}, f"{place}.labels")
    errors += [forbidden(f"{place}.{name}", "cannot be set") for name in metadata if name not in ("labels", "annotations")]
    spec, here = template["spec"], f"{field}.volumeClaimTemplate.spec"
    if not spec.get("accessModes"):
        errors.append(required(f"{here}.accessModes", "at least 1 access mode is required"))
    storage = spec["resources"].get("requests", {}).get("storage")
    return errors if storage is not None else [*errors, required(f"{here}.resources[storage]")]


def _downward(source: Json, field: str) -> list[FieldError]:
    errors = _mode(source, "defaultMode", field)
    for item in source.get("items", ()):
        errors += _downward_file(item, field)
    return errors


def _projected(source: Json, field: str) -> list[FieldError]:
    errors = _mode(source, "defaultMode", field)
    paths: set[str] = set()
    for index, projection in enumerate(source.get("sources") or ()):
        here = f"{field}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if kind in projection:
                errors += _named("name", projection[kind], f"{here}.{kind}") + _items(projection[kind], f"{here}.{kind}")
                errors += _conflicts(projection[kind], paths, field, name=projection[kind].get("name", ""))
        if "downwardAPI" in projection:
            for item in projection["downwardAPI"].get("items", ()):
                errors += _downward_file(item, f"{here}.downwardAPI")
            errors += _conflicts(projection["downwardAPI"], paths, field)
        if "serviceAccountToken" in projection:
            errors += _token(projection["serviceAccountToken"], f"{here}.serviceAccountToken", field)
        if len(projection) > 1:
            errors.append(forbidden(here, "may not specify more than 1 volume type"))
    return errors


def _token(token: Json, here: str, field: str) -> list[FieldError]:
    errors = []
    seconds = token.get("expirationSeconds", 3600)
    if seconds < 600:
        errors.append(invalid(f"{here}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"))
    if seconds > 2**32:
        errors.append(invalid(f"{here}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds"))
    path = token.get("path", "")
    return errors + (_local_path_errors(path, f"{field}.path") if path else [required(f"{field}.path")])


def _conflicts(source: Json, paths: set[str], field: str, name: str = "") -> list[FieldError]:
    errors = []
    for item in source.get("items", ()):
        path = item.get("path", "")
        if path and path in paths:
            errors.append(invalid(field, name or path, "conflicting duplicate paths"))
        paths.add(path)
    return errors


def _items(source: Json, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, item in enumerate(source.get("items", ())):
        here = f"{field}.items[{index}]"
        errors += _named("key", item, here) + _named("path", item, here)
        errors += _local_path_errors(item.get("path", ""), f"{here}.path") + _mode(item, "mode", here)
    return errors


def _downward_file(item: Json, field: str) -> list[FieldError]:
    errors = _named("path", item, field) + _local_path_errors(item.get("path", ""), f"{field}.path")
    if "fieldRef" in item:
        errors += field_ref_errors(item["fieldRef"], _VOLUME_FIELDS, f"{field}.fieldRef")
        if "resourceFieldRef" in item:
            errors.append(invalid(field, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
    elif "resourceFieldRef" in item:
        errors += resource_field_errors(item["resourceFieldRef"], f"{field}.resourceFieldRef", in_volume=True)
    else:
        errors.append(required(field, "one of fieldRef and resourceFieldRef is required"))
    return errors + _mode(item, "mode", field)


def _named(name: str, source: Json, field: str) -> list[FieldError]:
    return [] if source.get(name) else [required(f"{field}.{name}")]


def _mode(source: Json, name: str, field: str) -> list[FieldError]:
    mode = source.get(name)
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(f"{field}.{name}", mode, _MODE_FAULT)]


def _local_path_errors(path: str, field: str) -> list[FieldError]:
    errors = relative_path_errors(path, field)
    if path.startswith("..") and not path.startswith("../"):
        errors.append(invalid(field, path, "must not start with '..'"))
    return errors


def backstep_errors(path: str, field: str) -> list[FieldError]:
    """Errors of a path that must not contain `..`."""
    return [invalid(field, path, "must not contain '..'")] if ".." in path.split(posixpath.sep) else []


_SOURCES: dict[str, _Rule] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _secret,
    "nfs": _nfs,
    "persistentVolumeClaim": _claim,
    "downwardAPI": _downward,
    "configMap": _config_map,
    "projected": _projected,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
_ORDER = list(_SOURCES)
