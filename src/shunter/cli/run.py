"""`run`: apply manifests or start a program (`program`), follow the jobs, end with their outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.options.option_groups import grouped
from shunter.cli.options.program_options import ProgramOptions, RunCommand, own_words, programs_among
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.errors import EnvironmentProblem, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.api.meta import Json
    from shunter.api.resources import Resource
    from shunter.cluster.target import Target
    from shunter.jobs.display import Display
    from shunter.jobs.outcome import Outcome
    from shunter.kube.client import Client
    from shunter.kube.manifests import Manifest

__all__ = ["RunCommand", "run"]
NO_FILES: list[str] = []
_SHELL = "Start the Python program that it starts, or put the command into a TrainJob: spec.trainer.command"
NOT_STARTED = {"ipynb": "Make a program of it: jupyter nbconvert --to script {file}", "sh": _SHELL, "bash": _SHELL}
"""What to do instead with files that people try to run, by how their names end."""


@grouped
def run(
    *,
    ctx: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE|DIR|-...|PROGRAM.py", help="Manifests of jobs and the objects they need, or a program."),
    ] = NO_FILES,
    program: ProgramOptions,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    replace: Annotated[bool, typer.Option("--replace", help="Delete jobs of the same name and their pods first.")] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", help="Maximum time to follow the jobs, as in 90s or 10m [default: until they end].")
    ] = "",
    warm: Annotated[
        str,
        typer.Option(
            "--warm",
            metavar="MODULES",
            help="Use an embedded cluster that was started with --warm MODULES, or start it so (see up).",
        ),
    ] = "",
) -> None:
    """Apply manifests or start a program as a job, follow the logs of all ranks, and exit with the outcome.

    A program is a file that ends in .py, or a module (-m). Arguments after -- are passed to it: shunter run train.py --nodes 2 --
    --lr 3e-4. Its directory is sent with it, except files named in .gitignore and .shunterignore, secrets and weights.

    If something keeps a job from training, the command prints the reason once and waits, at most until --timeout. Without
    --kubeconfig, --context or $KUBECONFIG it starts an embedded cluster. Exit codes: 0 all jobs succeeded, 1 a job failed or did
    not end before the timeout, 2 invalid input, 3 no cluster.
    """
    import asyncio

    from shunter.cli.clusters import warm_modules
    from shunter.launch.option_texts import duration

    words = own_words(ctx)
    limit = duration("--timeout", timeout)
    modules = warm_modules(warm)
    if "" in files or not (files or words or program.module or program.rerun):
        raise InputError("nothing to run.", "Name a program or manifests: shunter run train.py, shunter run job.yaml")
    if program.module or program.rerun or programs_among(files):
        from shunter.cli.program import requested, run_program

        path = only_program(files, program, words, replace=replace)
        asked = None if program.rerun else requested(path, program, words or [])
        if program.dry_run or program.rerun:
            target = connect(kubeconfig, context)
            if modules:
                require_warm(target, modules)
        else:
            target = connect_or_start(kubeconfig, context, warm=modules)
        succeeded = asyncio.run(run_program(target, asked, program, replace=replace, timeout=limit))
    else:
        if given := program.given():
            raise InputError(
                f"{given[0]} applies to programs, and {(files or ['a manifest'])[0]} is not a program.",
                "In manifests, set the corresponding fields.",
            )
        from shunter.kube.manifests import load

        require_manifests(files)
        manifests = [manifest for file in (*files, *(words or ())) for manifest in load(file)]
        target = connect_or_start(kubeconfig, context, warm=modules)
        succeeded = asyncio.run(run_manifests(target, manifests, replace=replace, timeout=limit))
    if not succeeded:
        raise typer.Exit(1)


def require_manifests(files: list[str]) -> None:
    """InputError for notebooks and shell scripts, which are no manifests, and no programs that `run` can start."""
    for file in files:
        ending = file.rpartition(".")[2]
        if ending in NOT_STARTED:
            raise InputError(f"{file} is neither a Python program nor a manifest.", NOT_STARTED[ending].format(file=file))


def only_program(files: list[str], program: ProgramOptions, words: list[str] | None, *, replace: bool) -> str:
    """The script, empty for a module. InputError when more than one program is named, or something beside it, and for options
    that exclude each other."""
    what = [
        *files,
        *([f"-m {program.module}"] if program.module else []),
        *([f"--rerun {program.rerun}"] if program.rerun else []),
    ]
    if len(what) > 1:
        others = [word for word in what if word not in programs_among(files)[:1]]
        first = next(word for word in what if word not in others) if len(others) < len(what) else others.pop(0)
        raise InputError(
            f"{first} is a program, but {others[0]} was also given.",
            f"Arguments of the program come after --, as in shunter run {first} -- {others[0]}; run manifests separately.",
        )
    if program.rerun and words is not None:
        raise InputError(f"--rerun {program.rerun} runs with the arguments of that job.", "Leave -- and what follows it out.")
    if replace and not program.name:
        raise InputError("--replace needs --name: without it a free name is chosen.", "Leave --replace out, or name the job.")
    if replace and (program.rerun or program.dry_run):
        raise InputError("--replace cannot be given with --rerun or --dry-run.", "Leave one of them out.")
    if program.form and not program.dry_run:
        raise InputError(f"-o {program.form.value} prints what --dry-run would create.", "Add --dry-run, or leave -o out.")
    if program.dry_run and program.detach:
        raise InputError("--dry-run starts nothing that could be followed.", "Leave --detach out.")
    if program.no_code and (program.snapshot or program.workdir):
        raise InputError("--no-code sends nothing.", "Leave --snapshot and --workdir out.")
    return files[0] if files else ""


def connect_or_start(kubeconfig: Path | None, context: str, *, warm: tuple[str, ...] = ()) -> Target:
    """The named cluster, else the embedded one, started (and said so) when it is down. EnvironmentProblem for one that does not
    start containers with the modules `warm`."""
    from shunter.cli.clusters import page_link, warn_of_disk
    from shunter.cli.output.console import errors, say
    from shunter.cluster.target import is_down

    if is_down(kubeconfig, context):
        from shunter.cluster.lifecycle import start_default

        with errors().status("no cluster was named: starting an embedded one"):
            started = start_default(warm=warm)
        errors().print(started)
    target = connect(kubeconfig, context)
    if warm:
        require_warm(target, warm)
    if target.embedded is not None:
        warn_of_disk(target.embedded)
        if page := page_link(target.embedded):
            say(f"web page: {page}")
    return target


def require_warm(target: Target, modules: tuple[str, ...]) -> None:
    """EnvironmentProblem for a cluster that was not started with --warm and these modules."""
    from shunter.cluster.lifecycle import Options, refuse_other_options

    if target.embedded is None:
        raise EnvironmentProblem(
            f"--warm {','.join(modules)}: {target.server} is not an embedded cluster.",
            "Leave --warm out, or name no cluster.",
        )
    refuse_other_options(target.embedded, Options(target.embedded.root, warm=modules))


async def run_manifests(target: Target, manifests: list[Manifest], *, replace: bool, timeout: float | None = None) -> bool:
    """Whether every job among the manifests succeeded within that many seconds; True when there is none. Interrupted, or when the
    time is over, it says what goes on."""
    import asyncio

    from shunter.api.counts import count
    from shunter.cli.output.console import say
    from shunter.cli.output.display import display
    from shunter.fabrics.settings import verdicts_of
    from shunter.launch.applying import apply_all

    async with target.client:
        say(f"on {target.description}")
        for manifest in manifests:
            for verdict in verdicts_of(manifest.object):
                say(f"warning: {manifest.place}: {manifest.title}: {verdict}")
        jobs = await apply_all(target, manifests, replace=replace, tell=say)
        if not jobs:
            say(f"applied {count(len(manifests), 'object')}; no training job is among them")
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
    return (
        f"{job['kind']} {job['metadata']['name']} is still running; follow it: shunter logs -f {name}; end it: "
        f"shunter delete {name}"
    )


async def ended_by(deadline: float | None, client: Client, resource: Resource, job: Json, screen: Display) -> bool:
    """Whether the job succeeded by then (on the loop's clock); says how it ended, or what it still waits for."""
    import asyncio

    from shunter.cli.output.console import say
    from shunter.cli.output.diagnosed import diagnosed
    from shunter.jobs.following import JobFollower
    from shunter.jobs.outcome import outcome
    from shunter.operator.overview import overview

    follower = JobFollower(client, resource, job, screen)
    try:
        async with asyncio.timeout_at(deadline):
            end = await follower.run()
    except TimeoutError:
        row = overview(follower.job)
        say(f"{row.title} is {row.state} and did not end within --timeout")
        if follower.cause is not None:
            say(f"  {follower.cause}")
        say(f"  {goes_on(job)}")
        return False
    ended = await outcome(client, end, job, diagnosed)
    report(ended)
    return ended.succeeded


async def followed(client: Client, resource: Resource, job: Json, screen: Display) -> Outcome:
    """Follows a job to its end, and says how it ended."""
    from shunter.cli.output.diagnosed import diagnosed
    from shunter.jobs.following import JobFollower
    from shunter.jobs.outcome import outcome

    ended = await outcome(client, await JobFollower(client, resource, job, screen).run(), job, diagnosed)
    report(ended)
    return ended


def report(ended: Outcome) -> None:
    """Says how a job ended; of a failure first why, then what the job says of itself, and who else failed."""
    from rich.markup import escape

    from shunter.cli.output.console import errors

    title = ended.job.title
    if ended.succeeded:
        errors().print(f"[green]{ended.sentence}[/]", soft_wrap=True)
        return
    if ended.is_deleted:
        errors().print(f"[bold red]{ended.sentence}[/]", soft_wrap=True)
        return
    first, *then = ended.reasons
    errors().print(f"[bold red]{title} failed[/]: {escape(first)}", soft_wrap=True)
    for line in (*then, *ended.faults):
        errors().print(f"  {escape(line)}", soft_wrap=True)
    errors().print(f"  {what_remains(ended)}", soft_wrap=True)


def what_remains(failed: Outcome) -> str:
    """What to know of a failed job that is there until it is deleted, or for its ttlSecondsAfterFinished."""
    from shunter.api.counts import count
    from shunter.operator.overview import ttl_seconds

    name = f"{failed.job.name} -n {failed.job.namespace}"
    seconds = ttl_seconds(failed.end.job or {})
    if seconds is None:
        return f"The job remains. More: shunter describe {name}; remove it: shunter delete {name}"
    if seconds == 0:
        return "The job is deleted as soon as it ends (ttlSecondsAfterFinished: 0)."
    return f"The job is deleted {count(seconds, 'second')} after its end (ttlSecondsAfterFinished). More: shunter describe {name}"
