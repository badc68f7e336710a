"""The installed release of v2, by the fields of its CRDs, and the release that results need."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault
from shunter.migrate.survey.inventory.releases import needed

TOPIC = Topic(
    id="READY017",
    title="the installed v2 supports every field of results",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "Releases of Trainer differ in fields: podSpecOverrides (2.0), podTemplateOverrides (2.1), runtimePatches and "
        "activeDeadlineSeconds (2.2), envInjection (2.3). An older CRD silently drops newer fields."
    ),
    remedy="Upgrade v2, or convert for the installed release: --target-version",
    effort=3,
)
_TORCH = ("mlPolicy", "torch", "envInjection")
SHOWN_BY: tuple[tuple[str, Resource, tuple[str, ...]], ...] = (
    ("2.3", TRAINING_RUNTIMES, _TORCH),
    ("2.2", TRAIN_JOBS, ("runtimePatches",)),
    ("2.1", TRAIN_JOBS, ("podTemplateOverrides",)),
    ("2.0", TRAIN_JOBS, ("trainer",)),
)
"""Releases, each with a field that it introduced, the newest first."""


def applies(facts: Facts) -> bool:
    """Whether the cluster serves TrainJobs and there are unfinished v1 jobs."""
    return facts.serves(TRAIN_JOBS) and bool(facts.unfinished)


def faults(facts: Facts) -> Iterator[Fault]:
    """One for each result that needs a newer release. CRDs without any of the fields count as 2.0."""
    crds = {crd["metadata"]["name"]: crd for crd in facts.all(CUSTOM_RESOURCE_DEFINITIONS)}
    installed = next((release for release, resource, field in SHOWN_BY if _has(crds, resource, field)), "2.0")
    for outcome in facts.unfinished:
        if outcome.conversion is None:
            continue
        release, what = needed(outcome.conversion)
        if release > installed:
            yield Fault(f"its result needs Trainer {release} ({what}), but {installed} is installed.", outcome.source.title)


def _has(crds: dict[str, Json], resource: Resource, field: tuple[str, ...]) -> bool:
    """Whether the served version of the kind has the field in its spec."""
    crd = crds.get(resource.full_name)
    versions = crd["spec"]["versions"] if crd else ()
    schema: Json = next((version["schema"]["openAPIV3Schema"] for version in versions if version["name"] == resource.version), {})
    for name in ("spec", *field):
        properties = schema.get("properties") or {}
        if name not in properties:
            return False
        schema = properties[name]
    return True
