"""The files of a container as far as they can be seen: keys of ConfigMaps that are mounted, when the ConfigMaps are at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.migrate.launch.arguments import Spot

FindConfigMap = Callable[[str], Json | None]
"""The ConfigMap of that name, None when nobody has it."""


class File(NamedTuple):
    text: str
    spot: Spot
    """Of the text as a whole."""
    config_map: str = ""
    """The ConfigMap that has it; empty for a file that a script writes."""


def nowhere(name: str) -> Json | None:
    """A FindConfigMap that has none."""
    return None


def mounted_files(container: Json, volumes: Sequence[Json], find: FindConfigMap) -> dict[str, File]:
    """The files by absolute path."""
    sources = {volume.get("name"): volume for volume in volumes}
    files: dict[str, File] = {}
    for mount in container.get("volumeMounts") or ():
        volume, place = sources.get(mount.get("name")), mount.get("mountPath")
        if not volume or not isinstance(place, str):
            continue
        inner = mount.get("subPath")
        for path, file in _volume_files(volume, find):
            if not inner:
                files[str(PurePosixPath("/", place, path))] = file
            elif path == inner:
                files[str(PurePosixPath("/", place))] = file
    return files


def _volume_files(volume: Json, find: FindConfigMap) -> Iterator[tuple[str, File]]:
    """The files of a ConfigMap's volume, or of the ConfigMaps of a projected one, by path within it."""
    projected: Sequence[Json] = (volume.get("projected") or {}).get("sources") or ()
    for source in (volume.get("configMap"), *(part.get("configMap") for part in projected)):
        name = (source or {}).get("name")
        config_map = find(name) if name else None
        contents: dict[str, str] = (config_map or {}).get("data") or {}
        items: Sequence[Json] = (source or {}).get("items") or [{"key": key, "path": key} for key in contents]
        for item in items:
            text = contents.get(item.get("key", ""))
            if text is not None and item.get("path"):
                yield item["path"], File(text, Spot(("data", item["key"]), 0, len(text), file=f"ConfigMap {name}"), str(name))
