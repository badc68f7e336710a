"""Deletes v1's CRDs that are no longer needed, and the freeze with the last of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS
from shunter.errors import EnvironmentProblem
from shunter.kube.client import Client
from shunter.migrate.conversion.cleaning import clean, digest
from shunter.migrate.conversion.source import live
from shunter.migrate.moving import applying, freeze
from shunter.migrate.moving.applying import Outcome, Screen
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import Plan
from shunter.migrate.moving.readiness.checks.helm_releases import kinds_in
from shunter.migrate.moving.readiness.gathering import releases
from shunter.migrate.moving.steps import Step
from shunter.migrate.moving.v1_crds import V1_CRDS, CrdRemoval, crd_removals
from shunter.migrate.writing import write_whole


async def read(client: Client, names: Collection[str] = tuple(V1_CRDS)) -> list[CrdRemoval]:
    """Whether each of v1's CRDs, or of those named, can be deleted. EnvironmentProblem if not all objects that may need
    them can be read."""
    crds = (await client.list(CUSTOM_RESOURCE_DEFINITIONS)).items
    ours = [CUSTOM_RESOURCE_DEFINITIONS.typed(crd) for crd in crds if crd["metadata"]["name"] in names]
    kinds = {V1_CRDS[name] for name in names}
    found = await live.jobs(client, kinds=[resource for resource in live.KINDS if resource.kind in kinds])
    in_releases = await releases(client, [live.ALL])
    if found.findings or in_releases is None:
        what = "; ".join(finding.message for finding in found.findings) or "Secrets, where Helm keeps its releases"
        raise EnvironmentProblem(
            f"not everything that may need v1's CRDs can be read: {what}", "This takes an administrator of the cluster."
        )
    objects: dict[str, list[str]] = {}
    for job in found.jobs:
        objects.setdefault(job.kind, []).append(job.title)
    needed: dict[str, list[str]] = {}
    for release, manifest in in_releases:
        for kind in kinds_in(release, manifest):
            needed.setdefault(kind, []).append(release)
    return list(crd_removals(ours, objects, needed))


async def keep(client: Client, found: Sequence[CrdRemoval], directory: Path) -> None:
    """Writes the CRDs that will be deleted into a folder, so that they can be applied again."""
    for removal in found:
        if removal.step is not None:
            crd = await client.get(CUSTOM_RESOURCE_DEFINITIONS, removal.crd)
            body = CUSTOM_RESOURCE_DEFINITIONS.typed(crd)
            write_whole(directory / f"{removal.crd}.yaml", msgspec.yaml.encode(clean(body)).decode())


def copy_of(directory: Path, name: str, sha256: str) -> Json:
    """The copy of a deleted CRD; empty if there is none, or it is not the one that was deleted."""
    try:
        copy: Json = msgspec.yaml.decode((directory / f"{name}.yaml").read_bytes(), type=dict)
        return copy if digest(copy) == sha256 else {}
    except (OSError, msgspec.MsgspecError, KeyError, TypeError, AttributeError):
        return {}


async def delete(
    client: Client, going: Sequence[CrdRemoval], journal: Journal, screen: Screen, directory: Path
) -> tuple[list[Outcome], list[CrdRemoval]]:
    """Deletes CRDs one by one, each only if nothing needs it at that moment, after writing its copy into the directory.
    Returns the results, and the CRDs that are needed again. The journal must be entered and loaded."""
    outcomes: list[Outcome] = []
    stay: list[CrdRemoval] = []
    for removal in going:
        assert removal.step is not None, "only deletable CRDs"
        for now in await read(client, [removal.crd]):
            if now.step is None:
                stay.append(now)
            else:
                await keep(client, [now], directory)
                outcomes += await applying.apply(client, [removal.step], journal, screen)
    return outcomes, stay


def unfreeze_steps(plan: Plan, journal: Journal, found: Sequence[CrdRemoval]) -> list[Step]:
    """Removes the plan's freeze; none while a CRD that it guards is kept, or once that is done."""
    if any(removal.step is None for removal in found):
        return []
    name = freeze.name(plan.id)
    steps = []
    for resource in (VALIDATING_POLICY_BINDINGS, VALIDATING_POLICIES):
        of_it = [record for record in journal.records if record.object == (resource.kind, "", name)]
        made = [record for record in of_it if record.verb == "create" and record.phase == "done"]
        if made and journal.last(made[-1].step) is made[-1]:
            title = f"delete {resource.kind} {name}"
            if (last := journal.last(title)) is None or last.phase != "done":
                steps.append(Step(title, "delete", resource, "", name, uid=made[-1].uid))
    return steps
