"""ConfigMaps and Secrets that kustomizations generate: programs that jobs mount are often files which only a generator names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shunter.api.meta import Json
from shunter.migrate.conversion.source.files import TextFile
from shunter.migrate.conversion.source.kustomization import Kustomization, kustomizations

_GENERATORS = (("configMapGenerator", "ConfigMap", "data"), ("secretGenerator", "Secret", "stringData"))
_LARGEST = 1 << 20
"""Bytes of a file: the API server takes no larger object."""


def generated(files: Iterable[TextFile]) -> list[Json]:
    """The objects, with the texts that can be read here, named as in the source: without the digest that kustomize appends. Of
    several generators of one name the later ones add to the texts of the first."""
    found: dict[tuple[str, str, str], Json] = {}
    for kustomization in kustomizations(files):
        for field, kind, texts in _GENERATORS:
            entries = kustomization.value.get(field)
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict) and isinstance(name := entry.get("name"), str):
                    namespace = str(entry.get("namespace") or "")
                    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
                    one = found.setdefault((kind, namespace, name), {"kind": kind, "metadata": metadata, texts: {}})
                    one[texts].update(_texts(kustomization, entry))
    return [*found.values()]


def _texts(kustomization: Kustomization, entry: Json) -> Iterator[tuple[str, str]]:
    for literal in _words(entry.get("literals")):
        key, _, value = literal.partition("=")
        yield key, _unquoted(value)
    for named in _words(entry.get("files")):
        key, is_given, path = named.rpartition("=")
        text = _text(kustomization.directory / path)
        if text is not None:
            yield key if is_given else Path(path).name, text
    for path in [*_words(entry.get("envs")), *_words([entry.get("env")])]:
        for line in (_text(kustomization.directory / path) or "").splitlines():
            key, is_given, value = line.strip().partition("=")
            if is_given and not key.startswith("#"):
                yield key, value


def _words(value: Any) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _text(path: Path) -> str | None:
    """None for what is not there, or is no text: a program that cannot be read is no fault of the input."""
    try:
        return path.read_text(encoding="utf-8") if path.stat().st_size <= _LARGEST else None
    except (OSError, ValueError):
        return None
