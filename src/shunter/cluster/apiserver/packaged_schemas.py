"""Kubernetes' built-in schemas and our CRDs, as packaged by scripts/generate.py.

The definitions are OpenAPI v3 schemas that refer to each other by `#/components/schemas/NAME`. They stay one buffer of JSON
(0.8 MB); a definition is parsed when it is first asked for.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from shunter.api.meta import Json

_DATA = Path(__file__).parent / "data"


class Definitions(Mapping[str, Json]):
    """Definition name -> schema. Parsed schemas are kept and shared: treat them as immutable."""

    def __init__(self, raw: dict[str, msgspec.Raw]) -> None:
        self._raw = raw
        self._parsed: dict[str, Json] = {}

    def __getitem__(self, name: str) -> Json:
        parsed = self._parsed.get(name)
        if parsed is None:
            parsed = self._parsed[name] = msgspec.json.decode(self._raw[name], type=Json)
        return parsed

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __contains__(self, name: object) -> bool:
        return name in self._raw


@cache
def definitions() -> Definitions:
    """Schemas of Kubernetes 1.36's own types, by name, e.g. `io.k8s.api.core.v1.Pod`."""
    return Definitions(msgspec.json.decode(_read("builtin-definitions.json.gz"), type=dict[str, msgspec.Raw]))


@cache
def definition_names() -> Mapping[tuple[str, str, str], str]:
    """(group, version, kind) -> name of its definition."""
    return {
        (gvk["group"], gvk["version"], gvk["kind"]): name
        for name, schema in definitions().items()
        for gvk in schema.get("x-kubernetes-group-version-kind", ())
    }


def packaged_crds() -> Iterator[Json]:
    """The CRDs of the kinds that the operator serves or needs, in the order of their names."""
    for path in _packaged().values():
        yield _crd(path)


def packaged_crd(group: str, kind: str) -> Json | None:
    """The CRD of a kind, without reading the others; None for a kind that the operator neither serves nor needs."""
    path = _packaged().get(f"{kind.lower()}s.{group}.json.gz")
    crd = _crd(path) if path else None
    return crd if crd and crd["spec"]["names"]["kind"] == kind else None


@cache
def _packaged() -> dict[str, Path]:
    """The files of CRDs by their names, which are those of the objects."""
    return {path.name: path for path in sorted(_DATA.glob("crds/*.json.gz"))}


def _crd(path: Path) -> Json:
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=Json)


def _read(name: str) -> bytes:
    return gzip.decompress((_DATA / name).read_bytes())
