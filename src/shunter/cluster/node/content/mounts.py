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


class Mount(NamedTuple):
    """`source` on this machine, without symlinks; `target` inside the container."""

    source: str
    target: str
    read_only: bool
    sealed: bool = False
    """Whether it becomes read-only once all mounts are there: those within it may need a place of their own first."""


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
    itself shows it already; in one that is read-only there is no place to mount at."""
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
        _make_like(volume, path)
    return path


def _make_like(volume: Path, path: Path) -> None:
    """A directory that whoever may write to the volume may write to, as kubelet makes it."""
    mode = stat.S_IMODE(volume.stat().st_mode)
    for missing in reversed([one for one in (path, *path.parents) if not one.exists()]):
        missing.mkdir()
        missing.chmod(mode)
