"""What else is in the input beside the job that is converted, as far as rules look at it: ConfigMaps with scripts, Services in
the way, jobs of other kinds with the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shunter.api.meta import Json
from shunter.migrate.source.objects import SourceObject


@dataclass(frozen=True)
class Surroundings:
    objects: Mapping[tuple[str, str, str], Json] = field(default_factory=dict)
    """By kind, namespace ("" where the manifest names none) and name."""
    job_kinds: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """The v1 kinds of the jobs of one namespace and name, in the order of the input."""

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        """The object of that kind and name in the namespace; a manifest without a namespace may be for any."""
        return self.objects.get((kind, namespace, name)) or self.objects.get((kind, "", name))


def surroundings_of(jobs: Iterable[SourceObject], others: Iterable[Json] = ()) -> Surroundings:
    """`others` are the objects of the input that are no v1 jobs."""
    objects: dict[tuple[str, str, str], Json] = {}
    for value in others:
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            objects[str(value.get("kind")), str(metadata.get("namespace") or ""), str(metadata.get("name"))] = value
    kinds: dict[tuple[str, str], tuple[str, ...]] = {}
    for job in jobs:
        if job.metadata.get("name"):
            known = kinds.get((job.namespace, job.name), ())
            kinds[job.namespace, job.name] = known if job.kind in known else (*known, job.kind)
    return Surroundings(objects, kinds)


NOTHING = Surroundings()
