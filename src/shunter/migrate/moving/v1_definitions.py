"""The end of v1: its CustomResourceDefinitions, once nothing is left that needs them. Pure.

Deleting a definition deletes every object of its kind, of all versions, in all namespaces. So each is asked for on its own, and
mpijobs.kubeflow.org belongs to the mpi-operator as well (v2beta1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.ownership import other_manager
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS
from shunter.api.training.kinds import JOB_KINDS
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving.steps import Step

V1_DEFINITIONS: Mapping[str, str] = {kind.resource.full_name: kind.resource.kind for kind in JOB_KINDS}
"""Kinds by the names of their definitions."""
V1 = JOB_KINDS[0].resource.version


class Ending(NamedTuple):
    """`step` is None for a definition that stays."""

    definition: str
    why: str
    step: Step | None = None


def endings(
    definitions: Iterable[Json], objects: Mapping[str, Sequence[str]], releases: Mapping[str, Sequence[str]]
) -> Iterator[Ending]:
    """`objects` are titles of what is left of each kind, of any version, and `releases` the Helm releases that still hold objects
    of it, both by kind."""
    for crd in definitions:
        name = crd["metadata"]["name"]
        if (kind := V1_DEFINITIONS.get(name)) is None:
            continue
        if why := _why_not(crd, objects.get(kind, ()), releases.get(kind, ())):
            yield Ending(name, why)
            continue
        step = Step(
            f"delete {CUSTOM_RESOURCE_DEFINITIONS.kind} {name} {crd['metadata']['uid']}",
            "delete",
            CUSTOM_RESOURCE_DEFINITIONS,
            "",
            name,
            sha256=digest(crd),
            uid=crd["metadata"]["uid"],
        )
        yield Ending(name, "nothing of it is left", step)


def _why_not(crd: Json, objects: Sequence[str], releases: Sequence[str]) -> str:
    if objects:
        return f"{len(objects)} of its objects are there: {', '.join(objects[:3])}{', ...' if len(objects) > 3 else ''}"
    others = sorted({*(crd.get("status") or {}).get("storedVersions", ())} - {V1})
    others += [v["name"] for v in crd["spec"]["versions"] if v["name"] != V1 and v.get("served") and v["name"] not in others]
    if others:
        return f"it is another product's as well: its versions are {', '.join(sorted({V1, *others}))}"
    if releases:
        return f"Helm releases hold objects of it and could not be upgraded any more: {', '.join(releases)}"
    if manager := other_manager(crd):
        return f"it belongs to {manager}: remove it there"
    return ""
