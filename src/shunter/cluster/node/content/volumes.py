"""Where a pod's volumes are on this machine: emptyDir, hostPath, and those made from API objects (`volume_files.py` fills them);
and which of them pods may not write to."""

from __future__ import annotations

import stat
from pathlib import Path

from shunter.api.meta import Json
from shunter.cluster.node.content.references import MissingSourceError
from shunter.cluster.node.content.volume_files import is_from_api
from shunter.cluster.node.layout import PodDirectory


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
    """Claimed volumes that are read-only in the whole pod, whatever a mount says."""
    return {volume["name"] for volume in spec.get("volumes") or () if (volume.get("persistentVolumeClaim") or {}).get("readOnly")}


def sealed_volumes(spec: Json) -> set[str]:
    """Volumes made from API objects: kubelet alone writes to them."""
    return {volume["name"] for volume in spec.get("volumes") or () if is_from_api(volume)}


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
