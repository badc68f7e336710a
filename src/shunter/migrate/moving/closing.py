"""The end of a migration: v1's definitions go where nothing needs them any more, and the freeze with the last of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS
from shunter.errors import EnvironmentProblem
from shunter.kube.client import Client
from shunter.migrate.backup.cleaning import clean
from shunter.migrate.moving import freeze
from shunter.migrate.moving.finalizing import V1_DEFINITIONS, Ending, endings
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import Plan
from shunter.migrate.moving.steps import Step
from shunter.migrate.readiness.checks.helm_releases import kinds_in
from shunter.migrate.readiness.gathering import releases
from shunter.migrate.source import live
from shunter.migrate.writing import write_whole


async def read(client: Client) -> list[Ending]:
    """What becomes of each of v1's definitions. EnvironmentProblem when not all that may need them can be read."""
    definitions = (await client.list(CUSTOM_RESOURCE_DEFINITIONS)).items
    ours = [
        {"apiVersion": CUSTOM_RESOURCE_DEFINITIONS.api_version, "kind": CUSTOM_RESOURCE_DEFINITIONS.kind, **crd}
        for crd in definitions
        if crd["metadata"]["name"] in V1_DEFINITIONS
    ]
    found = await live.jobs(client)
    held = await releases(client, [live.ALL])
    if found.findings or held is None:
        what = "; ".join(finding.message for finding in found.findings) or "Secrets, where Helm keeps its releases"
        raise EnvironmentProblem(
            f"not everything that may need v1's definitions can be read: {what}", "This takes an administrator of the cluster."
        )
    objects: dict[str, list[str]] = {}
    for job in found.jobs:
        objects.setdefault(job.kind, []).append(job.title)
    needed: dict[str, list[str]] = {}
    for release, manifest in held:
        for kind in kinds_in(release, manifest):
            needed.setdefault(kind, []).append(release)
    return list(endings(ours, objects, needed))


async def keep(client: Client, found: Sequence[Ending], directory: Path) -> None:
    """Writes the definitions that are to go into a folder, so that they can be applied again."""
    for ending in found:
        if ending.step is not None:
            crd = await client.get(CUSTOM_RESOURCE_DEFINITIONS, ending.definition)
            body = {"apiVersion": CUSTOM_RESOURCE_DEFINITIONS.api_version, "kind": CUSTOM_RESOURCE_DEFINITIONS.kind, **crd}
            write_whole(directory / f"{ending.definition}.yaml", msgspec.yaml.encode(clean(body)).decode())


def unfreezing(plan: Plan, journal: Journal, found: Sequence[Ending]) -> list[Step]:
    """Takes the plan's freeze away when no definition stays that it guards."""
    if any(ending.step is None for ending in found):
        return []
    name = freeze.name(plan.id)
    made = [record for record in journal.records if record.verb == "create" and record.name == name and record.phase == "done"]
    return [
        Step(f"delete {resource.kind} {name}", "delete", resource, "", name, uid=record.uid)
        for record in made
        for resource in (freeze.BINDINGS, freeze.POLICIES)
        if record.kind == resource.kind
    ]
