"""Which of v1's CustomResourceDefinitions can be deleted, because nothing needs them any more. Pure.

Deleting a CRD deletes every object of its kind, of all versions, in all namespaces. So each is decided separately;
mpijobs.kubeflow.org, for example, belongs to the mpi-operator as well (v2beta1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.ownership import other_manager
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.moving.steps import Step, delete_step

V1_CRDS: Mapping[str, str] = {kind.resource.full_name: kind.resource.kind for kind in JOB_KINDS}
"""The kinds, by the names of their CRDs."""
V1 = JOB_KINDS[0].resource.version


class CrdRemoval(NamedTuple):
    """A CRD, and why it is deleted or kept; `step` is None if it is kept."""

    crd: str
    why: str
    step: Step | None = None


def crd_removals(
    crds: Iterable[Json], objects: Mapping[str, Sequence[str]], releases: Mapping[str, Sequence[str]]
) -> Iterator[CrdRemoval]:
    """Decides about each CRD of v1. By kind, `objects` are the titles of existing objects, of any version, and `releases`
    the Helm releases that contain such objects."""
    for crd in crds:
        name = crd["metadata"]["name"]
        if (kind := V1_CRDS.get(name)) is None:
            continue
        if why := _why_kept(crd, objects.get(kind, ()), releases.get(kind, ())):
            yield CrdRemoval(name, why)
            continue
        yield CrdRemoval(name, "nothing of it is left", delete_step(CUSTOM_RESOURCE_DEFINITIONS, crd))


def _why_kept(crd: Json, objects: Sequence[str], releases: Sequence[str]) -> str:
    if objects:
        return f"{len(objects)} of its objects exist: {', '.join(objects[:3])}{', ...' if len(objects) > 3 else ''}"
    others = sorted({*(crd.get("status") or {}).get("storedVersions", ())} - {V1})
    others += [v["name"] for v in crd["spec"]["versions"] if v["name"] != V1 and v.get("served") and v["name"] not in others]
    if others:
        return f"it is another product's as well: its versions are {', '.join(sorted({V1, *others}))}"
    if releases:
        return f"Helm releases hold objects of it and could not be upgraded any more: {', '.join(releases)}"
    if manager := other_manager(crd):
        return f"it belongs to {manager}: remove it there"
    return ""
