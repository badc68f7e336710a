"""The objects of a trial, made and removed with a word to the user."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.titles import object_title
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.findings.printing import print_findings
from shunter.cli.output.console import say
from shunter.kube.client import Client
from shunter.launch.deleting import delete_and_wait
from shunter.migrate.conversion.emit.job import SEPARATOR, plain_text
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding
from shunter.migrate.moving.runs.deploying import former, leftovers, obstacles, remove, start
from shunter.migrate.moving.runs.outputs import shared
from shunter.migrate.moving.runs.refusals import no_room, shared_output
from shunter.migrate.moving.runs.trial import Trial


async def make_room(client: Client, trial: Trial, *, replace: bool) -> None:
    """Removes trials whose time is over, and with `replace` an earlier one of the same job."""
    await remove_leftovers(client, trial.namespace)
    if replace and (before := await former(client, trial)):
        await delete_and_wait(client, TRAIN_JOBS, before, tell=say)


async def objections(
    client: Client, trial: Trial, source: SourceObject, pods: list[Json], originals: list[Json], *, allow_shared_output: bool
) -> list[Finding]:
    """What speaks against running a trial of these pods beside those of its original: places that both write to, and no room.
    Says what cannot be known."""
    found = shared_output(source, shared(originals, pods), allowed=allow_shared_output)
    looked_at = await obstacles(client, trial, pods)
    for unknown in looked_at.unknown:
        say(f"unknown: {unknown}")
    return [*found, *no_room(source, looked_at.found)]


async def started(client: Client, trial: Trial, of: str, refusals: Sequence[Finding], *, dry_run: bool) -> Json | int:
    """The TrainJob of a trial that was started; the exit code where something speaks against it, or in a dry run."""
    print_findings(refusals, with_notes=False)
    if any(finding.is_blocking for finding in refusals):
        say(f"no trial of {of} was started")
        return exit_codes.BLOCKED
    if dry_run:
        print_manifests(trial)
        return exit_codes.OK
    created = await start(client, trial)
    say(f"started TrainJob {trial.namespace}/{trial.name}, a trial of {of}")
    return created


async def removed(client: Client, job: Json) -> None:
    """Removes a trial with all that belongs to it, even when the command is being interrupted."""
    await asyncio.shield(remove(client, TRAIN_JOBS, job))
    metadata = job["metadata"]
    say(f"removed TrainJob {metadata['namespace']}/{metadata['name']}")


async def remove_leftovers(client: Client, namespace: str) -> int:
    """Removes trials whose time is over, and says so; how many objects those were."""
    count = 0
    async for resource, obj in leftovers(client, namespace, datetime.now(UTC)):
        await remove(client, resource, obj)
        title = object_title(resource.kind, obj["metadata"]["namespace"], obj["metadata"]["name"])
        say(f"removed {title}, left of a trial")
        count += 1
    return count


def print_manifests(trial: Trial) -> None:
    """Writes runtime and TrainJob as YAML to standard output; no runtime where a shipped one does."""
    for manifest in (trial.runtime, trial.train_job):
        if manifest is not None:
            sys.stdout.write(SEPARATOR + plain_text(manifest))
