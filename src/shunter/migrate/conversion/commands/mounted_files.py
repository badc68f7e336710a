"""The files of a container as far as they can be seen: keys of mounted ConfigMaps and Secrets that the input has; and what one
container of a pod sees of another one's files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.jobs.commands.arguments import SourceRange

FindObject = Callable[[str], Json | None]
"""The object of a title (`ConfigMap scripts`, `Secret scripts`) with its texts in `data`, and in `binaryData` those that become
files only; None when no object has it."""
TEXT_FIELDS = ("data", "binaryData")
"""Where an object has what becomes files. Variables come from `data` alone. Source: kubelet 1.36 `makeEnvironmentVariables`."""


class File(NamedTuple):
    """A file of a container whose text is known."""

    text: str
    spot: SourceRange
    """The position of the text as a whole."""
    source: str = ""
    """The title of the object that has it; empty for a file that a script writes."""


def nowhere(name: str) -> Json | None:
    """A FindObject that has none."""
    return None


def mounted_files(container: Json, volumes: Sequence[Json], find: FindObject) -> dict[str, File]:
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


def _volume_files(volume: Json, find: FindObject) -> Iterator[tuple[str, File]]:
    """The files of the ConfigMap or Secret of a volume, or of those of a projected one, by path within it."""
    for title, source in sources(volume):
        contents = {key: (field, text) for field, key, text in object_texts(find(title) or {})}
        items: Sequence[Json] = source.get("items") or [{"key": key, "path": key} for key in contents]
        for item in items:
            if (key := item.get("key", "")) in contents and item.get("path"):
                field, text = contents[key]
                yield item["path"], File(text, SourceRange((field, key), 0, len(text), file=title), title)


def object_texts(found: Json) -> Iterator[tuple[str, str, str]]:
    """What an object has for files: the field, the key, the text."""
    for field in TEXT_FIELDS:
        for key, text in (found.get(field) or {}).items():
            yield field, key, text


def sources(volume: Json) -> Iterator[tuple[str, Json]]:
    """What a volume holds, by the titles of the objects."""
    for part in (volume, *((volume.get("projected") or {}).get("sources") or ())):
        for kind, field, names in (("ConfigMap", "configMap", ("name",)), ("Secret", "secret", ("secretName", "name"))):
            source = part.get(field) or {}
            name = next((source[key] for key in names if source.get(key)), "")
            if name:
                yield f"{kind} {name}", source


def env_sources(source: Json, find: FindObject) -> Iterator[tuple[str, dict[str, str]]]:
    """What an entry of envFrom sets, with the title of the object, if it is there: the prefix is before the names."""
    for kind, field in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
        reference = source.get(field)
        if reference and (found := find(f"{kind} {reference.get('name')}")):
            prefix = source.get("prefix") or ""
            yield f"{kind} {reference['name']}", {f"{prefix}{key}": value for key, value in found["data"].items()}


def path_in(reader: Json, path: str, writer: Json) -> str:
    """What the file `path` of one container is called in another one of its pod; empty where that does not see it."""
    if reader is writer:
        return path
    around = [mount for mount in _volumes(writer) if PurePosixPath(path).is_relative_to(mount[0])]
    if not around:
        return ""
    place, volume, below = max(around, key=lambda mount: len(mount[0]))
    file = PurePosixPath(below, PurePosixPath(path).relative_to(place))
    for other_place, other_volume, other_below in _volumes(reader):
        if other_volume == volume and file.is_relative_to(other_below):
            return str(PurePosixPath(other_place, file.relative_to(other_below)))
    return ""


def _volumes(container: Json) -> Iterator[tuple[str, str, str]]:
    """Where volumes are mounted: the place, the volume, and what is mounted of it."""
    for mount in container.get("volumeMounts") or ():
        if isinstance(mount.get("mountPath"), str):
            yield mount["mountPath"], str(mount.get("name")), str(mount.get("subPath") or "")
