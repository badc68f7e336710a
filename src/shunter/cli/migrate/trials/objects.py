"""Creates and removes the objects of a trial, and prints what it does."""

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


async def replace_earlier_trial(client: Client, trial: Trial, *, replace: bool) -> None:
    """Removes expired trials, and with `replace` an earlier one of the same job."""
    await remove_leftovers(client, trial.namespace)
    if replace and (earlier := await former(client, trial)):
        await delete_and_wait(client, TRAIN_JOBS, earlier, notify=say)


async def objections(
    client: Client, trial: Trial, source: SourceObject, pods: list[Json], originals: list[Json], *, allow_shared_output: bool
) -> list[Finding]:
    """Why a trial with these pods must not run beside its original: output locations that both write to, or missing resources.
    Prints what is unknown."""
    found = shared_output(source, shared(originals, pods), allowed=allow_shared_output)
    checked = await obstacles(client, trial, pods)
    for unknown in checked.unknown:
        say(f"unknown: {unknown}")
    return [*found, *no_room(source, checked.found)]


async def started(client: Client, trial: Trial, of: str, refusals: Sequence[Finding], *, dry_run: bool) -> Json | int:
    """The TrainJob of the started trial; the exit code if a finding blocks it, or in a dry run."""
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
    """Removes a trial and its objects, even if the command is being interrupted."""
    await asyncio.shield(remove(client, TRAIN_JOBS, job))
    metadata = job["metadata"]
    say(f"removed TrainJob {metadata['namespace']}/{metadata['name']}")


async def remove_leftovers(client: Client, namespace: str) -> int:
    """Removes expired trials, and prints them; returns the number of removed objects."""
    count = 0
    async for resource, obj in leftovers(client, namespace, datetime.now(UTC)):
        await remove(client, resource, obj)
        title = object_title(resource.kind, obj["metadata"]["namespace"], obj["metadata"]["name"])
        say(f"removed {title}, left over from a trial")
        count += 1
    return count


def print_manifests(trial: Trial) -> None:
    """Writes runtime and TrainJob as YAML to standard output; only the TrainJob if it uses a shipped runtime."""
    for manifest in (trial.runtime, trial.train_job):
        if manifest is not None:
            sys.stdout.write(SEPARATOR + plain_text(manifest))
