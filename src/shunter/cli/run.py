"""`run`: applies manifests or starts a program (`program.py`), follows the jobs, and exits with their outcome."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from shunter.api.formats.counts import count
from shunter.api.formats.durations import option_seconds
from shunter.cli.clusters import warm_modules, warn_of_disk
from shunter.cli.options.option_groups import given_options, grouped
from shunter.cli.options.program_options import ProgramOptions
from shunter.cli.options.run_command import program_arguments, programs_among
from shunter.cli.output.console import busy, errors, say
from shunter.cli.program import requested, run_program
from shunter.cli.status import page_link
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.cluster.lifecycle import Options, refuse_other_options, start_default
from shunter.cluster.target import Target, is_down
from shunter.errors import EnvironmentProblem, InputError
from shunter.fabrics.settings import verdicts_of
from shunter.kube.manifests import SUFFIXES, Manifest, load
from shunter.launch.applying import apply_all

NO_FILES: list[str] = []
_SHELL = "Start the Python program that it starts, or put the command into a TrainJob: spec.trainer.command"
NOT_STARTED = {"ipynb": "Make a program of it: jupyter nbconvert --to script {file}", "sh": _SHELL, "bash": _SHELL}
"""Remedies for files that `run` cannot start, by file extension."""


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
    words = program_arguments(ctx)
    limit = option_seconds("--timeout", timeout)
    modules = warm_modules(warm)
    if "" in files or not (files or words or program.module or program.rerun):
        raise InputError("nothing to run.", "Name a program or manifests: shunter run train.py, shunter run job.yaml")
    if program.module or program.rerun or programs_among(files):
        path = only_program(files, program, words, replace=replace)
        request = None if program.rerun else requested(path, program, words or [])
        if program.dry_run or program.rerun:
            target = connect(kubeconfig, context)
            if modules:
                require_warm(target, modules)
        else:
            target = connect_or_start(kubeconfig, context, warm=modules)
        succeeded = asyncio.run(run_program(target, request, program, replace=replace, timeout=limit))
    else:
        require_manifests(files)
        if given := given_options(program):
            raise InputError(
                f"{given[0]} applies to programs, and {(files or ['a manifest'])[0]} is not a program.",
                "In manifests, set the corresponding fields.",
            )
        manifests = [manifest for file in (*files, *(words or ())) for manifest in load(file)]
        target = connect_or_start(kubeconfig, context, warm=modules)
        succeeded = asyncio.run(run_manifests(target, manifests, replace=replace, timeout=limit))
    if not succeeded:
        raise typer.Exit(1)


def require_manifests(files: list[str]) -> None:
    """Raises InputError for notebooks and shell scripts, which are neither manifests nor programs that `run` can start, and for
    directories of programs."""
    for file in files:
        names = {path.name for path in Path(file).iterdir()} if os.path.isdir(file) else set()
        if not any(name.endswith(SUFFIXES) for name in names) and (scripts := sorted(n for n in names if n.endswith(".py"))):
            package = os.path.basename(os.path.abspath(file))
            raise InputError(
                f"{file} is a directory of programs, and holds no manifest.",
                f"Run its __main__.py, from the directory above: shunter run -m {package}"
                if "__main__.py" in scripts
                else f"Name one of them, as in: shunter run {os.path.join(file, scripts[0])}",
            )
        ending = file.rpartition(".")[2]
        if ending in NOT_STARTED:
            raise InputError(f"{file} is neither a Python program nor a manifest.", NOT_STARTED[ending].format(file=file))


def only_program(files: list[str], program: ProgramOptions, words: list[str] | None, *, replace: bool) -> str:
    """The script; empty for a module. Raises InputError if anything besides the program is named, and for options that exclude
    each other."""
    what = [
        *files,
        *([f"-m {program.module}"] if program.module else []),
        *([f"--rerun {program.rerun}"] if program.rerun else []),
    ]
    if len(what) > 1:
        first = (programs_among(files) or what)[0]
        what.remove(first)
        if program.rerun:
            raise InputError(
                f"--rerun {program.rerun} runs the program of that job, but {first} was also given.", "Leave one of them out."
            )
        raise InputError(
            f"{first} is a program, but {what[0]} was also given.",
            f"Arguments of the program come after --, as in shunter run {first} -- {what[0]}; run manifests separately.",
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
    """The named cluster, else the embedded one, which is started if it is down. Raises EnvironmentProblem for a cluster that was
    not started with the modules `warm`."""
    if is_down(kubeconfig, context):
        with busy("no cluster was named: starting an embedded one"):
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
    """Raises EnvironmentProblem for a cluster that was not started with --warm and these modules."""
    if target.embedded is None:
        raise EnvironmentProblem(
            f"--warm {','.join(modules)}: {target.server} is not an embedded cluster.",
            "Leave --warm out, or name no cluster.",
        )
    refuse_other_options(target.embedded, Options(target.embedded.root, warm=modules))


async def run_manifests(target: Target, manifests: list[Manifest], *, replace: bool, timeout: float | None = None) -> bool:
    """Whether every job among the manifests succeeded within `timeout` seconds; True if there is none."""
    async with target.client:
        say(f"on {target.description}")
        for manifest in manifests:
            for verdict in verdicts_of(manifest.object):
                say(f"warning: {manifest.place}: {manifest.title}: {verdict}")
        jobs = await apply_all(target, manifests, replace=replace, notify=say)
        if not jobs:
            say(f"applied {count(len(manifests), 'object')}; no training job is among them")
        from shunter.cli.output.following import all_succeeded  # while the pods start

        return await all_succeeded(target.client, jobs, timeout)
