"""The CustomResourceDefinitions of v1: which versions are stored, and whether one is being deleted."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS
from shunter.api.titles import title_of
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault
from shunter.migrate.moving.v1_crds import V1, V1_CRDS

TOPIC = Topic(
    id="READY002",
    title="the CRDs of v1 are intact",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "Objects are stored in one version of their kind. A CRD that once stored another version than v1 may have "
        "objects that cannot be read after that version is removed; a CRD that is being deleted deletes all its jobs."
    ),
    remedy="Store the objects as v1 again (kubectl get and replace each), then remove the other version from storedVersions.",
    effort=3,
)


def applies(facts: Facts) -> bool:
    """Whether a CRD of v1 exists."""
    return any(crd["metadata"]["name"] in V1_CRDS for crd in facts.all(CUSTOM_RESOURCE_DEFINITIONS))


def faults(facts: Facts) -> Iterator[Fault]:
    """A blocking one for a CRD that is being deleted; one for objects stored in a version that is not served."""
    for crd in facts.all(CUSTOM_RESOURCE_DEFINITIONS):
        name = crd["metadata"]["name"]
        if name not in V1_CRDS:
            continue
        if crd["metadata"].get("deletionTimestamp"):
            yield Fault(
                f"{name} is being deleted, with all {V1_CRDS[name]}s.",
                title_of(crd),
                "Back up now what still exists: shunter migrate backup",
                "blocking",
            )
        if old := _unserved(crd):
            yield Fault(f"{name} has objects stored as {', '.join(old)}, which is not served.", title_of(crd))


def _unserved(crd: Json) -> list[str]:
    served = {version["name"] for version in crd["spec"]["versions"] if version.get("served")}
    return [version for version in (crd.get("status") or {}).get("storedVersions") or () if version not in served | {V1}]
