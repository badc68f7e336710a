"""Follows jobs that were started to their end, --timeout or Ctrl-C, and reports how they ended or that they continue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rich.text import Text

from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cli.output.console import errors, say
from shunter.cli.output.diagnosed import diagnosed
from shunter.cli.output.display import display
from shunter.jobs.failure_record import cell, failure_record
from shunter.jobs.following.follower import JobFollower
from shunter.jobs.following.outcome import Outcome, outcome
from shunter.jobs.following.pipe_display import Display
from shunter.kube.client import Client
from shunter.operator.overview import overview, ttl_seconds


async def followed(client: Client, resource: Resource, job: Json, screen: Display) -> Outcome:
    """Follows a job to its end, and reports how it ended."""
    ended = await outcome(client, await JobFollower(client, resource, job, screen).run(), job, diagnosed)
    report(ended)
    return ended


async def all_succeeded(client: Client, jobs: Sequence[tuple[Resource, Json]], timeout: float | None) -> bool:
    """Follows jobs one after another: whether every one succeeded within `timeout` seconds. If it is interrupted (Ctrl-C), it
    prints that the jobs whose end it has not reported continue, and how to follow or end them."""
    deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
    succeeded = []
    try:
        for resource, job in jobs:
            succeeded.append(await ended_by(deadline, client, resource, job, display()))
    except asyncio.CancelledError:
        for _, job in jobs[len(succeeded) + 1 :]:
            say(remaining_text(job, "was not followed, and stays"))
        raise
    return all(succeeded)


async def ended_by(deadline: float | None, client: Client, resource: Resource, job: Json, screen: Display) -> bool:
    """Whether the job succeeded before the deadline (on the loop's clock). Reports how it ended, or what it still waits for;
    interrupted, it says that the job continues."""
    follower = JobFollower(client, resource, job, screen)
    try:
        end = await follower.run_until(deadline)
    except asyncio.CancelledError:
        say(unended_text(follower))
        raise
    if end is None:
        row = overview(follower.job)
        say(f"{row.title} is {row.state} and did not end within --timeout")
        if follower.cause is not None:
            say(f"  {follower.cause}")
        elif not follower.has_started:
            say(f"  no cause is known yet; check again: shunter describe {row.name} -n {row.namespace}")
        if failures := cell(failure_record(follower.job), client.now()):
            say(f"  failed before: {failures}")
        say(f"  {unended_text(follower)}")
        return False
    ended = await outcome(client, end, job, diagnosed)
    report(ended)
    return ended.succeeded


def unended_text(follower: JobFollower) -> str:
    """`remaining_text` of a job that is no longer followed: it runs, restarts again and again, or has never run."""
    if follower.cause is not None and follower.cause.word == "CrashLoop":
        return remaining_text(follower.job, "keeps restarting")
    return remaining_text(follower.job, "is still running" if follower.has_started else "has not started, and stays")


def remaining_text(job: Json, how: str) -> str:
    """What becomes of a job that is not followed, and how to follow it or to end it."""
    name = f"{job['metadata']['name']} -n {job['metadata']['namespace']}"
    return f"{job['kind']} {job['metadata']['name']} {how}; follow it: shunter logs -f {name}; end it: shunter delete {name}"


def report(ended: Outcome) -> None:
    """Prints how a job ended; for a failure first the cause, then the job's own message and other failures."""
    title = ended.job.title
    if ended.succeeded:
        errors().print(ended.sentence, style="green", soft_wrap=True)
        return
    if ended.is_deleted:
        errors().print(ended.sentence, style="bold red", soft_wrap=True)
        return
    first, *then = ended.reasons
    errors().print(Text.assemble((f"{title} failed", "bold red"), f": {first}"), soft_wrap=True)
    for line in (*then, *ended.faults):
        errors().print(f"  {line}", soft_wrap=True)
    errors().print(f"  {deletion_text(ended)}", soft_wrap=True)


def deletion_text(failed: Outcome) -> str:
    """The message about when a failed job is deleted."""
    name = f"{failed.job.name} -n {failed.job.namespace}"
    seconds = ttl_seconds(failed.end.job or {})
    if seconds is None:
        return f"The job remains. More: shunter describe {name}; remove it: shunter delete {name}"
    if seconds == 0:
        return "The job is deleted as soon as it ends (ttlSecondsAfterFinished: 0)."
    return f"The job is deleted {count(seconds, 'second')} after its end (ttlSecondsAfterFinished). More: shunter describe {name}"
