"""The end of a migration: deletes v1's definitions that are not needed any more, and the freeze with the last of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS
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
from shunter.migrate.moving.v1_definitions import V1_DEFINITIONS, Ending, endings
from shunter.migrate.writing import write_whole


async def read(client: Client, names: Collection[str] = tuple(V1_DEFINITIONS)) -> list[Ending]:
    """Whether each of v1's definitions, or of some, can be deleted. EnvironmentProblem when not all objects that may need them
    can be read."""
    definitions = (await client.list(CUSTOM_RESOURCE_DEFINITIONS)).items
    ours = [CUSTOM_RESOURCE_DEFINITIONS.typed(crd) for crd in definitions if crd["metadata"]["name"] in names]
    kinds = {V1_DEFINITIONS[name] for name in names}
    found = await live.jobs(client, kinds=[resource for resource in live.KINDS if resource.kind in kinds])
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
            body = CUSTOM_RESOURCE_DEFINITIONS.typed(crd)
            write_whole(directory / f"{ending.definition}.yaml", msgspec.yaml.encode(clean(body)).decode())


def copy_of(directory: Path, name: str, sha256: str) -> Json:
    """A definition that was kept; empty when it is not there, or is not the one that was deleted."""
    try:
        copy: Json = msgspec.yaml.decode((directory / f"{name}.yaml").read_bytes(), type=dict)
        return copy if digest(copy) == sha256 else {}
    except (OSError, msgspec.MsgspecError, KeyError, TypeError, AttributeError):
        return {}


async def delete(
    client: Client, going: Sequence[Ending], journal: Journal, screen: Screen, directory: Path
) -> tuple[list[Outcome], list[Ending]]:
    """Deletes definitions one after the other, each only if right then nothing needs it; and says which stay because something
    came to need them. Their copies go into the directory. The journal is entered and loaded."""
    outcomes: list[Outcome] = []
    stay: list[Ending] = []
    for ending in going:
        assert ending.step is not None, "it goes"
        for now in await read(client, [ending.definition]):
            if now.step is None:
                stay.append(now)
            else:
                await keep(client, [now], directory)
                outcomes += await applying.apply(client, [ending.step], journal, screen)
    return outcomes, stay


def unfreezing(plan: Plan, journal: Journal, found: Sequence[Ending]) -> list[Step]:
    """Takes the plan's freeze away when no definition stays that it guards; nothing when that was done before."""
    if any(ending.step is None for ending in found):
        return []
    name = freeze.name(plan.id)
    steps = []
    for resource in (freeze.BINDINGS, freeze.POLICIES):
        of_it = [record for record in journal.records if record.object == (resource.kind, "", name)]
        made = [record for record in of_it if record.verb == "create" and record.phase == "done"]
        if made and journal.last(made[-1].step) is made[-1]:
            title = f"delete {resource.kind} {name}"
            if (last := journal.last(title)) is None or last.phase != "done":
                steps.append(Step(title, "delete", resource, "", name, uid=made[-1].uid))
    return steps
