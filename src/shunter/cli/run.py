"""`run`: apply manifests, follow the jobs among them, end with their outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.target import ContextOption, KubeconfigOption

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.api.meta import Json
    from shunter.api.resources import Resource
    from shunter.cli.display import Display
    from shunter.cli.following import End
    from shunter.cli.target import Target
    from shunter.kube.client import Client
    from shunter.kube.manifests import Manifest


def run(
    files: Annotated[list[str], typer.Argument(metavar="FILE|DIR|-...", help="Manifests: jobs and what they need.")],
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    replace: Annotated[bool, typer.Option("--replace", help="Delete jobs of the same name first, with their pods.")] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", help="Follow the jobs no longer than this, as in 90s or 10m [default: until they end].")
    ] = "",
) -> None:
    """Apply manifests, follow the logs of all ranks, and exit with the outcome of the jobs.

    What keeps a job from training is said once, in one sentence; the job waits for it to pass, and so does the command unless
    --timeout ends it. Starts an embedded cluster when no cluster is named (by --kubeconfig, --context or $KUBECONFIG). Exit
    codes: 0 every job succeeded, 1 one failed or had not ended when the time was over, 2 wrong input, 3 no cluster.
    """
    import asyncio

    from shunter.kube.manifests import load

    limit = timeout_seconds(timeout)
    manifests = [manifest for file in files for manifest in load(file)]
    target = connect_or_start(kubeconfig, context)
    if not asyncio.run(run_manifests(target, manifests, replace=replace, timeout=limit)):
        raise typer.Exit(1)


def timeout_seconds(text: str) -> float | None:
    """A duration such as 90s, 10m or 1h30m; None for an empty text, InputError for anything else and for nothing."""
    from shunter.errors import InputError
    from shunter.operator.config import seconds

    if not text:
        return None
    try:
        limit = seconds(text, 0)
    except InputError as error:
        raise InputError(f"--timeout: {error.message}", error.remedy) from error
    if limit <= 0:
        raise InputError(f"--timeout: {text!r} is no time at all.", "Write it like 90s or 10m.")
    return limit


def connect_or_start(kubeconfig: Path | None, context: str) -> Target:
    """The named cluster, else the embedded one, started (and said so) when it is down."""
    from shunter.cli.clusters import warn_of_disk
    from shunter.cli.console import errors
    from shunter.cli.target import connect, is_named
    from shunter.cluster import lifecycle
    from shunter.cluster.state_dir import StateDir, default_state_dir

    if not is_named(kubeconfig, context) and StateDir(default_state_dir()).read_record() is None:
        with errors().status("no cluster was named: starting an embedded one"):
            started = lifecycle.start(lifecycle.Options(state_dir=default_state_dir()))
        errors().print(f"started an embedded cluster in {started.seconds:.1f} s (stop it with: shunter down)")
    target = connect(kubeconfig, context)
    if target.embedded is not None:
        warn_of_disk(target.embedded)
    return target


async def run_manifests(target: Target, manifests: list[Manifest], *, replace: bool, timeout: float | None = None) -> bool:
    """Whether every job among the manifests succeeded within that many seconds; True when there is none. Interrupted, or when the
    time is over, it says what goes on."""
    import asyncio

    from shunter.cli.applying import apply_all
    from shunter.cli.console import say
    from shunter.cli.display import display

    async with target.client:
        say(f"on {target.description}")
        jobs = await apply_all(target, manifests, replace=replace)
        if not jobs:
            say(f"applied {len(manifests)} object{'s' * (len(manifests) > 1)}; no training job is among them")
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        try:
            ended = [await ended_by(deadline, target.client, resource, job, display()) for resource, job in jobs]
            return all(ended)
        except asyncio.CancelledError:
            for _, job in jobs:
                say(goes_on(job))
            raise


def goes_on(job: Json) -> str:
    """What to know of an applied job that is no longer followed."""
    name = f"{job['metadata']['name']} -n {job['metadata']['namespace']}"
    return f"{job['kind']} {job['metadata']['name']} goes on; follow it: shunter logs -f {name}; end it: shunter delete {name}"


async def ended_by(deadline: float | None, client: Client, resource: Resource, job: Json, screen: Display) -> bool:
    """Whether the job succeeded by then (on the loop's clock); says how it ended, or what it still waits for."""
    import asyncio

    from shunter.cli.console import say
    from shunter.cli.following import JobFollower
    from shunter.operator.overview import overview

    follower = JobFollower(client, resource, job, screen)
    try:
        async with asyncio.timeout_at(deadline):
            end = await follower.run()
    except TimeoutError:
        row = overview(follower.job)
        say(f"{row.kind} {row.namespace}/{row.name} is {row.state} and has not ended in the time that --timeout gives")
        if follower.cause is not None:
            say(f"  {follower.cause}")
        say(f"  {goes_on(job)}")
        return False
    outcome = Outcome(end, job)
    await outcome.report(client)
    return outcome.succeeded


async def followed(client: Client, resource: Resource, job: Json, screen: Display) -> Outcome:
    """Follows a job to its end, and says how it ended."""
    from shunter.cli.following import JobFollower

    outcome = Outcome(await JobFollower(client, resource, job, screen).run(), job)
    await outcome.report(client)
    return outcome


class Outcome:
    """How one job ended."""

    def __init__(self, end: End, applied: Json) -> None:
        from shunter.operator.overview import overview

        self.end = end
        self.job = overview(end.job or applied)
        self.succeeded = end.job is not None and self.job.state == "Succeeded"

    async def report(self, client: Client) -> None:
        """Says how the job ended; of a failure first why, then what the job says of itself, and who else failed."""
        from rich.markup import escape

        from shunter.cli.console import errors
        from shunter.cli.last_words import last_words
        from shunter.cli.reports import failure_lines, headline

        title = f"{self.job.kind} {self.job.namespace}/{self.job.name}"
        if self.succeeded:
            errors().print(f"[green]{title} succeeded[/]", soft_wrap=True)
            return
        if self.end.job is None:
            errors().print(f"[bold red]{title} was deleted[/]", soft_wrap=True)
            return
        logs = await last_words(client, self.end.job, self.end.pods)
        why = headline(self.end.job, self.end.pods, [], logs)
        first, *then = [text for text in dict.fromkeys((why, self.job.message)) if text] or ["it does not say why"]
        errors().print(f"[bold red]{title} failed[/]: {escape(first)}", soft_wrap=True)
        for line in (*then, *failure_lines(self.end.job, self.end.pods, logs)):
            errors().print(f"  {escape(line)}", soft_wrap=True)
        errors().print(f"  More: shunter describe {self.job.name} -n {self.job.namespace}", soft_wrap=True)
