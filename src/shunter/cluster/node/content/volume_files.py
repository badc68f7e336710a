"""The files of volumes that are made from API objects, and how they get to disk.

`volume_files` is pure. `write_files` replaces a volume's content as a whole, as kubelet does: the files live in a directory
with a time in its name, `..data` links to it, and what users see are links through `..data`; one rename switches all files.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.node.content.downward import PodContext, field_value, named_container, resource_value
from shunter.cluster.node.content.references import MissingSourceError, Sources, token_key
from shunter.cluster.node.content.user_identity import token_owner, volume_group

_DATA = "..data"
_NEXT = "..data_tmp"
_GROUP_READS, _GROUP_WRITES, _GROUP_ENTERS = 0o440, 0o660, 0o2110
_FROM_API = ("configMap", "secret", "downwardAPI", "projected")


class VolumeFile(NamedTuple):
    """What one file of a volume holds, and its permission bits."""

    content: bytes
    mode: int
    owner: int | None = None
    """The user that it belongs to, where that is not the node's."""


Files = Mapping[str, VolumeFile]


def is_from_api(volume: Json) -> bool:
    """Whether the volume's files are made from API objects (and follow their changes)."""
    return any(kind in volume for kind in _FROM_API)


def volume_files(volume: Json, pod: Json, sources: Sources, context: PodContext) -> Files:
    """The files of a configMap, secret, downwardAPI or projected volume, by relative path.

    Raises MissingSourceError with kubelet's words when something that is not optional does not exist.
    """
    group = volume_group(pod["spec"])
    projections = volume["projected"].get("sources") or () if "projected" in volume else (volume,)
    default_mode = next((volume[kind].get("defaultMode") for kind in _FROM_API if kind in volume), None) or 0o644
    files: dict[str, VolumeFile] = {}
    for projection in projections:
        files.update(_projected(projection, default_mode, pod, sources, context))
    for path in files:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise MissingSourceError(f"invalid path {path}: must be relative and stay inside the volume")
    if group is None:
        return files
    return {path: file._replace(mode=file.mode | _GROUP_READS) for path, file in files.items()}


def _projected(projection: Json, mode: int, pod: Json, sources: Sources, context: PodContext) -> dict[str, VolumeFile]:
    if "configMap" in projection:
        source = projection["configMap"]
        optional = bool(source.get("optional"))
        return _keys(source, sources.config_map_files(source.get("name", ""), optional=optional), mode, "config", optional)
    if "secret" in projection:
        source = projection["secret"]
        optional = bool(source.get("optional"))
        entries = sources.secret(source.get("secretName") or source.get("name", ""), optional=optional)
        return _keys(source, entries, mode, "secret", optional)
    if "downwardAPI" in projection:
        return {
            item["path"]: VolumeFile(_downward(item, pod, context).encode(), item.get("mode") or mode)
            for item in projection["downwardAPI"].get("items") or ()
        }
    if "serviceAccountToken" in projection:
        source = projection["serviceAccountToken"]
        token = sources.tokens.get(token_key(source))
        if token is None:
            raise MissingSourceError(f'service account token of "{pod["spec"].get("serviceAccountName", "default")}" not found')
        owner = token_owner(pod["spec"])
        is_private = owner is not None or volume_group(pod["spec"]) is not None
        return {source["path"]: VolumeFile(token.encode(), 0o600 if is_private else mode, owner)}
    unknown = next(iter(projection), "")
    raise MissingSourceError(f"projected volume source {unknown!r} is not supported by this node")


def _keys(source: Json, entries: dict[str, bytes] | None, mode: int, kind: str, optional: bool) -> dict[str, VolumeFile]:
    if entries is None:
        return {}
    if not source.get("items"):
        return {key: VolumeFile(content, mode) for key, content in entries.items()}
    files = {}
    for item in source["items"]:
        if item["key"] in entries:
            files[item["path"]] = VolumeFile(entries[item["key"]], item.get("mode") or mode)
        elif not optional:
            owner = "configmap" if kind == "config" else "secret"
            raise MissingSourceError(f"{owner} references non-existent {kind} key: {item['key']}")
    return files


def _downward(item: Json, pod: Json, context: PodContext) -> str:
    if "fieldRef" in item:
        return field_value(item["fieldRef"]["fieldPath"], pod, context)
    reference = item["resourceFieldRef"]
    return resource_value(reference, named_container(pod, reference["containerName"]), context)


def write_files(directory: Path, files: Files, *, group: int | None = None, own: bool = False) -> bool:
    """Makes the volume's visible content exactly `files`; returns whether anything changed. With `own` files get the owner that
    they name; `group` is the group of them all. Both need the rights of root."""
    directory.mkdir(parents=True, exist_ok=True)
    data = directory / _DATA
    previous = os.readlink(data) if data.is_symlink() else ""
    if previous and _read_files(directory / previous) == {path: file._replace(owner=None) for path, file in files.items()}:
        return False
    fresh = f"..{time.strftime('%Y_%m_%d_%H_%M_%S', time.gmtime())}.{time.time_ns() % 10**9:09d}"
    try:
        (directory / fresh).mkdir()
        for path, (content, mode, owner) in files.items():
            target = f"{directory}/{fresh}/{path}"
            if "/" in path:
                os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(content)
                if own and owner is not None:
                    os.fchown(file.fileno(), owner, -1)
                os.fchmod(file.fileno(), mode)
        if group is not None:
            give_to_group(directory / fresh, group, read_only=True)
            _give(directory, group, _GROUP_ENTERS)
    except OSError:
        # A full disk: what the volume shows stays, and no half of it takes room.
        shutil.rmtree(directory / fresh, ignore_errors=True)
        raise
    # A process that was killed here has left one.
    (directory / _NEXT).unlink(missing_ok=True)
    os.symlink(fresh, directory / _NEXT)
    os.replace(directory / _NEXT, data)
    wanted = {PurePosixPath(path).parts[0] for path in files}
    linked = set()
    with os.scandir(directory) as entries:
        for entry in list(entries):
            if entry.is_symlink():
                linked.add(entry.name)
                if entry.name not in wanted and os.readlink(entry) == f"{_DATA}/{entry.name}":
                    os.unlink(entry)
            elif entry.name.startswith("..") and entry.name != fresh:
                shutil.rmtree(entry)
    for name in wanted - linked:
        os.symlink(f"{_DATA}/{name}", f"{directory}/{name}")
    return True


def give_to_group(directory: Path, group: int, *, read_only: bool) -> None:
    """All files below get this group and may be read by it, and written unless `read_only`; what is made in the directories
    later gets it as well. As kubelet does for a pod's fsGroup. Needs the rights of root."""
    _give(directory, group, _GROUP_ENTERS | (_GROUP_READS if read_only else _GROUP_WRITES))
    for place, directories, files in os.walk(directory):
        for name in directories:
            _give(Path(place, name), group, _GROUP_ENTERS | (_GROUP_READS if read_only else _GROUP_WRITES))
        for name in files:
            _give(Path(place, name), group, _GROUP_READS if read_only else _GROUP_WRITES)


def _give(path: Path, group: int, mode: int) -> None:
    os.chown(path, -1, group, follow_symlinks=False)
    if not path.is_symlink():
        path.chmod(path.stat().st_mode & 0o7777 | mode)


def _read_files(directory: Path) -> dict[str, VolumeFile]:
    return {
        str(path.relative_to(directory)): VolumeFile(path.read_bytes(), path.stat().st_mode & 0o7777)
        for path in directory.rglob("*")
        if path.is_file()
    }
