"""Which directory or file of this machine each volumeMount of a container shows."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.node.content.expansion import expand
from shunter.cluster.node.content.references import MissingSourceError
from shunter.cluster.node.content.volumes import is_from_api
from shunter.cluster.node.layout import PodDirectory


class Mount(NamedTuple):
    """`source` on this machine, without symlinks; `target` inside the container."""

    source: str
    target: str
    read_only: bool
    sealed: bool = False
    """Whether it becomes read-only once all mounts are there: those within it may need a place of their own first."""


def volume_source(volume: Json, pod: PodDirectory) -> Path:
    """The directory (or file) behind a volume, created where its kind allows.

    Raises MissingSourceError, with kubelet's words where it has some, when there is none.
    """
    if "hostPath" in volume:
        return _host_path(volume["hostPath"])
    if "emptyDir" in volume or is_from_api(volume):
        path = pod.volume(volume["name"])
        path.mkdir(parents=True, exist_ok=True)
        if "emptyDir" in volume:
            path.chmod(0o777)
        return path
    kind = next((key for key in volume if key != "name"), "unknown")
    raise MissingSourceError(f"volume type {kind} is not supported by this node")


def memory_volumes(spec: Json) -> dict[str, str]:
    """emptyDir volumes that live in memory, with their size limit (a quantity, empty for none)."""
    return {
        volume["name"]: str(volume["emptyDir"].get("sizeLimit") or "")
        for volume in spec.get("volumes") or ()
        if (volume.get("emptyDir") or {}).get("medium") == "Memory"
    }


def read_only_volumes(spec: Json) -> set[str]:
    """Claimed volumes that nobody in the pod may write to, whatever a mount says."""
    return {volume["name"] for volume in spec.get("volumes") or () if (volume.get("persistentVolumeClaim") or {}).get("readOnly")}


def sealed_volumes(spec: Json) -> set[str]:
    """Volumes made from API objects: kubelet alone writes to them."""
    return {volume["name"] for volume in spec.get("volumes") or () if is_from_api(volume)}


def container_mounts(
    container: Json,
    sources: Mapping[str, Path],
    environment: Mapping[str, str],
    *,
    read_only: Collection[str] = (),
    sealed: Collection[str] = (),
) -> list[Mount]:
    """The mounts of a container, outermost first; `read_only` and `sealed` name volumes. Raises MissingSourceError for a subPath
    that leaves its volume."""
    mounts = []
    for mount in container.get("volumeMounts") or ():
        source = sources[mount["name"]]
        inside = expand(mount["subPathExpr"], environment) if mount.get("subPathExpr") else mount.get("subPath", "")
        if inside:
            source = _sub_path(source, inside)
        target = os.path.normpath("/" + mount["mountPath"].lstrip("/"))
        is_sealed = mount["name"] in sealed
        is_read_only = not is_sealed and (bool(mount.get("readOnly")) or mount["name"] in read_only)
        mounts.append(Mount(os.path.realpath(source), target, is_read_only, is_sealed))
    return sorted(mounts, key=lambda mount: mount.target.count("/"))


def uncovered(trees: Iterable[str], mounts: Iterable[Mount]) -> list[Mount]:
    """What shows an image's trees again, read-only, where volumes mounted above them would hide them. A volume that holds a tree
    itself shows it already; in one that nobody may write to there is no place to mount at."""
    found = []
    for tree in dict.fromkeys(trees):
        above = [mount for mount in mounts if tree.startswith(mount.target.rstrip("/") + "/")]
        if above:
            nearest, source = max(above, key=lambda mount: len(mount.target)), os.path.realpath(tree)
            if not nearest.read_only and os.path.join(nearest.source, os.path.relpath(tree, nearest.target)) != source:
                found.append(Mount(source, tree, read_only=True))
    return found


def _sub_path(volume: Path, inside: str) -> Path:
    path = volume / inside
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(volume)):
        raise MissingSourceError(f'subPath "{inside}" leads out of its volume')
    if not path.exists():
        path.mkdir(parents=True)
    return path


_REQUIRED = {
    "Directory": (stat.S_ISDIR, "directory"),
    "File": (stat.S_ISREG, "file"),
    "Socket": (stat.S_ISSOCK, "socket"),
    "CharDevice": (stat.S_ISCHR, "character device"),
    "BlockDevice": (stat.S_ISBLK, "block device"),
}


def _host_path(source: Json) -> Path:
    path, kind = Path(source["path"]), source.get("type") or ""
    if kind == "DirectoryOrCreate" or (not kind and not path.exists()):
        path.mkdir(parents=True, exist_ok=True)
    elif kind == "FileOrCreate":
        path.touch(exist_ok=True)
    elif kind in _REQUIRED:
        check, name = _REQUIRED[kind]
        if not path.exists() or not check(path.stat().st_mode):
            raise MissingSourceError(f"hostPath type check failed: {path} is not a {name}")
    return path
