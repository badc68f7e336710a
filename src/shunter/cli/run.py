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
) -> None:
    """Apply manifests, follow the logs of all ranks, and exit with the outcome of the jobs.

    Starts an embedded cluster when no cluster is named (by --kubeconfig, --context or $KUBECONFIG). Exit codes: 0 every job
    succeeded, 1 one failed, 2 wrong input, 3 no cluster.
    """
    import asyncio

    from shunter.kube.manifests import load

    manifests = [manifest for file in files for manifest in load(file)]
    target = connect_or_start(kubeconfig, context)
    if not asyncio.run(run_manifests(target, manifests, replace=replace)):
        raise typer.Exit(1)


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


async def run_manifests(target: Target, manifests: list[Manifest], *, replace: bool) -> bool:
    """Whether every job among the manifests succeeded; True when there is none. Interrupted, it says what goes on."""
    import asyncio

    from shunter.cli.applying import apply_all
    from shunter.cli.console import say
    from shunter.cli.display import display

    async with target.client:
        say(f"on {target.description}")
        jobs = await apply_all(target, manifests, replace=replace)
        if not jobs:
            say(f"applied {len(manifests)} object{'s' * (len(manifests) > 1)}; no training job is among them")
        try:
            ended = [await followed(target.client, resource, job, display()) for resource, job in jobs]
            return all(outcome.succeeded for outcome in ended)
        except asyncio.CancelledError:
            for _, job in jobs:
                say(goes_on(job))
            raise


def goes_on(job: Json) -> str:
    """What to know of an applied job that is no longer followed."""
    name = f"{job['metadata']['name']} -n {job['metadata']['namespace']}"
    return f"{job['kind']} {job['metadata']['name']} goes on; follow it: shunter logs -f {name}; end it: shunter delete {name}"


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
        """Says how the job ended, and for a failure which container failed first and in which words."""
        from rich.markup import escape

        from shunter.cli.console import errors
        from shunter.cli.last_words import last_words
        from shunter.cli.reports import failure_lines

        title = f"{self.job.kind} {self.job.namespace}/{self.job.name}"
        if self.succeeded:
            errors().print(f"[green]{title} succeeded[/]", soft_wrap=True)
            return
        message = f": {self.job.message}" if self.job.message else ""
        errors().print(f"[bold red]{title} {'failed' if self.end.job else 'was deleted'}[/]{escape(message)}", soft_wrap=True)
        if self.end.job is None:
            return
        logs = await last_words(client, self.end.job, self.end.pods)
        for line in failure_lines(self.end.job, self.end.pods, logs):
            errors().print(f"  {escape(line)}", soft_wrap=True)
        errors().print(f"  More: shunter describe {self.job.name} -n {self.job.namespace}", soft_wrap=True)
