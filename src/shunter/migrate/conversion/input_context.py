"""What else is in the input beside the job that is converted, as far as rules look at it: ConfigMaps and Secrets with scripts,
Services in the way, jobs of other kinds with the same name. Of other objects only that is kept which is what it should be:
nothing asked for them, and rules need not look at types again.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath

import msgspec

from shunter.api.meta import Json
from shunter.migrate.conversion.base_names import stem
from shunter.migrate.conversion.source.objects import SourceObject


class InputContext(msgspec.Struct, frozen=True):
    """What rules may look up. NOTHING is that of a job which is converted alone."""

    objects: Mapping[tuple[str, str, str], Json] = {}
    """The objects by kind, namespace ("" if the manifest has none) and name."""
    job_kinds: Mapping[tuple[str, str], tuple[str, ...]] = {}
    """The v1 kinds of the jobs of one namespace (`applied_to`) and name, in the order of the input."""
    stems: Mapping[tuple[str, str], int] = {}
    """How many jobs of a namespace ask for one name in v2."""
    is_one_stream: bool = False
    """Whether all results are applied together, from whatever folders the jobs are."""
    namesakes: Mapping[tuple[str, str, str, str], tuple[SourceObject, ...]] = {}
    """The jobs of one folder, kind, namespace and name: more than one where one would take the other's place."""

    def kinds_called(self, namespace: str, name: str) -> tuple[str, ...]:
        """The v1 kinds of the jobs of that name, in the order of the input."""
        return self.job_kinds.get((applied_to(namespace), name), ())

    def number_asking_for(self, namespace: str, name: str) -> int:
        """How many jobs of the namespace ask for the name in v2."""
        return self.stems.get((applied_to(namespace), name), 0)

    def same_named_jobs(self, source: SourceObject) -> list[SourceObject]:
        """The jobs that are applied together with this one and have its kind, namespace and name."""
        found = [*self.namesakes.get(_called(source, is_one_stream=self.is_one_stream), ())]
        if len(found) < 2:  # itself, or what a trial was made of
            return []
        own = next((number for number, other in enumerate(found) if other.place() == source.place()), 0)
        return [*found[:own], *found[own + 1 :]]

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        """The object of that kind and name in the namespace; a manifest without a namespace may be for any."""
        return self.objects.get((kind, namespace, name)) or self.objects.get((kind, "", name))

    def selectors(self, namespace: str) -> Iterator[tuple[str, Json]]:
        """The Services that may be of the namespace: their names, and the labels that they select pods by."""
        for (kind, place, name), found in self.objects.items():
            if kind == "Service" and place in (namespace, ""):
                yield name, _object(_object(found.get("spec")).get("selector"))


def applied_to(namespace: str) -> str:
    """The namespace of a manifest, with kubectl's own where it names none."""
    return namespace or "default"


def context_of(jobs: Iterable[SourceObject], others: Iterable[Json] = (), *, is_one_stream: bool = False) -> InputContext:
    """`others` are the objects of the input that are no v1 jobs."""
    objects: dict[tuple[str, str, str], Json] = {}
    for value in others:
        found = _well_formed(value)
        name, namespace = found["metadata"].get("name"), found["metadata"].get("namespace") or ""
        if isinstance(name, str) and isinstance(namespace, str):
            objects[str(found.get("kind")), namespace, name] = found
    kinds: dict[tuple[str, str], tuple[str, ...]] = {}
    namesakes: dict[tuple[str, str, str, str], tuple[SourceObject, ...]] = {}
    for job in jobs:
        if job.metadata.get("name"):
            if not job.is_embedded:
                called = _called(job, is_one_stream=is_one_stream)
                namesakes[called] = (*namesakes.get(called, ()), job)
            place = applied_to(job.namespace), job.name
            known = kinds.get(place, ())
            kinds[place] = known if job.kind in known else (*known, job.kind)
    return InputContext(objects, kinds, _stems(kinds), is_one_stream, namesakes)


def _called(source: SourceObject, *, is_one_stream: bool) -> tuple[str, str, str, str]:
    """Files of one folder count as applied together; those of several may be for several clusters."""
    folder = "" if is_one_stream else PurePath(source.source).parent.as_posix()
    return folder, source.kind, applied_to(source.namespace), source.name


def _stems(kinds: Mapping[tuple[str, str], tuple[str, ...]]) -> Mapping[tuple[str, str], int]:
    return Counter(
        (namespace, stem(kind, name, is_shared=kind != known[0])) for (namespace, name), known in kinds.items() for kind in known
    )


def _well_formed(value: Json) -> Json:
    """The object with the metadata and the texts that have the types of the API. Those of `binaryData` are decoded, and stay
    apart: they become files, but no variables."""
    metadata, data = _object(value.get("metadata")), _object(value.get("data"))
    binary = _object(value.get("binaryData")) if value.get("kind") == "ConfigMap" else {}
    if value.get("kind") == "Secret":
        data = {**{key: _decoded(text) for key, text in data.items()}, **_object(value.get("stringData"))}
    owners = metadata.get("ownerReferences")
    references = [owner for owner in owners if isinstance(owner, dict)] if isinstance(owners, list) else []
    texts = {"data": _texts(data), "binaryData": _texts({key: _decoded(text) for key, text in binary.items()})}
    return {**value, "metadata": {**metadata, "ownerReferences": references}, **texts}


def _texts(data: Json) -> dict[str, str]:
    return {key: text for key, text in data.items() if isinstance(key, str) and isinstance(text, str)}


def _decoded(text: object) -> str | None:
    """The text of a value that is written in base64; None for what is none."""
    try:
        return base64.b64decode(str(text), validate=True).decode()
    except ValueError:
        return None


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


NOTHING = InputContext()
