"""`migrate test` (also `test-deploy`): runs the converted job beside its original, follows, compares and removes it."""

from __future__ import annotations

import asyncio
import copy
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.compare import ComparisonOptions
from shunter.cli.migrate.comparison_output import print_run_comparison
from shunter.cli.migrate.findings.printing import print_findings
from shunter.cli.migrate.options.conversion import ConversionOptions
from shunter.cli.migrate.trials.objects import objections, removed, replace_earlier_trial, started
from shunter.cli.migrate.trials.of_file import deployed, is_path, only_job
from shunter.cli.options.option_groups import grouped
from shunter.cli.output.console import errors, say
from shunter.cli.output.display import RecordingDisplay, display
from shunter.cli.output.following import followed
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.cluster.target import Target
from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError
from shunter.jobs.logs.metrics import MetricPattern
from shunter.kube.client import Client
from shunter.migrate.conversion.emit.files import runtimes_beside
from shunter.migrate.conversion.input_context import InputContext, context_of
from shunter.migrate.conversion.one_job import framework_of
from shunter.migrate.conversion.source import provider
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.provider import read
from shunter.migrate.findings import Finding
from shunter.migrate.moving.gathering import read as read_live
from shunter.migrate.moving.runs.comparison import Tolerance, compared
from shunter.migrate.moving.runs.converted_trial import Naming, train_job_in
from shunter.migrate.moving.runs.reading import run_of
from shunter.migrate.moving.runs.record import Run, encoded, stored
from shunter.migrate.moving.runs.trial import Trial, TrialOptions, trial_of
from shunter.migrate.options import Options
from shunter.migrate.pods.sides import v1_pods, v2_pods
from shunter.migrate.writing import require_writable, write_whole

PairsOption = list[str] | None


@grouped
def trial(
    *,
    job: Annotated[
        str,
        typer.Argument(metavar="[KIND/]NAME|FILE", help="The v1 job, a file with it, or a file with the converted TrainJob."),
    ],
    files: Annotated[
        list[str] | None,
        typer.Option("-f", "--filename", help="Also read the job, or objects that FILE needs, from here; repeatable."),
    ] = None,
    in_namespace: Annotated[
        str, typer.Option("--in-namespace", help="Namespace of the trial [default: that of the original].")
    ] = "",
    suffix: Annotated[str, typer.Option("--suffix", help="Suffix of the trial's name, for a v1 job.")] = "-trial",
    prefix: Annotated[str, typer.Option("--prefix", help="Prefix of the trial's name, for a TrainJob from a FILE.")] = "test-",
    nodes: Annotated[int | None, typer.Option("--nodes", min=1, help="Number of nodes, if fewer than the original has.")] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Number of steps; requires --steps-arg or --steps-env.")
    ] = None,
    steps_argument: Annotated[str, typer.Option("--steps-arg", help="Flag of the program for the number of steps.")] = "",
    steps_variable: Annotated[str, typer.Option("--steps-env", help="Environment variable for the number of steps.")] = "",
    arguments: Annotated[
        PairsOption, typer.Option("--arg", metavar="FLAG=VALUE", help="Set a flag of the program; repeatable.")
    ] = None,
    variables: Annotated[
        PairsOption, typer.Option("--env", metavar="NAME=VALUE", help="Set an environment variable; repeatable.")
    ] = None,
    deadline: Annotated[int, typer.Option("--deadline", min=1, help="Seconds after which the trial ends.")] = 3600,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            min=0,
            help="Seconds to keep the trial for its logs after it ends [default: 0; 3600 for a TrainJob from a FILE].",
        ),
    ] = None,
    allow_shared_output: Annotated[
        bool, typer.Option("--allow-shared-output", help="Run even if the trial writes to the output location of the original.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove an earlier trial of the job first, even if it runs.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the manifests after all checks; start nothing.")] = False,
    baseline: Annotated[Path | None, typer.Option(help="Compare with the run in this file instead of the job's pods.")] = None,
    export: Annotated[Path | None, typer.Option(help="Write the data of the trial's run to this file.")] = None,
    comparing: ComparisonOptions,
    flags: ConversionOptions,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Run the converted job beside its original, compare the runs, and remove it.

    A TrainJob from a FILE, as written by `convert`, runs as `test-NAME` and stays for `migrate compare ORIGINAL test-NAME`.

    If this command is killed, the trial ends at its deadline, and the next `test` or `cleanup` in its namespace removes the rest.
    Exit codes: 0 succeeded, and equal if the original has finished (on fewer nodes: one process group); 1 failed or not
    comparable; 3 not started; 5 different.
    """
    options = flags.meaning(suspend=False, suffix=suffix)
    if is_path(job):
        files = [job, *(files or [])]
        read_input = read(files)
        if converted := train_job_in(read_input.objects):
            changed = [nodes, steps, steps_argument, steps_variable, arguments, variables, baseline, export]
            if any(changed):
                raise InputError(
                    f"{job} contains a TrainJob: --nodes, --steps, --arg, --env, --baseline and --export are for v1 jobs.",
                    "Name the v1 job, or edit the file.",
                )
            naming = Naming(
                namespace=in_namespace or namespace or converted.namespace,
                prefix=prefix,
                deadline_seconds=deadline,
                keep_seconds=3600 if keep is None else keep,
            )
            runtimes, unread = runtimes_beside([job], read_input.objects)
            print_findings([*read_input.findings, *unread], with_notes=False)
            deploying = deployed(
                connect(kubeconfig, context),
                converted,
                [*read_input.objects, *runtimes],
                naming,
                allow_shared_output=allow_shared_output,
                replace=replace,
                dry_run=dry_run,
            )
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            raise typer.Exit(asyncio.run(deploying))
        job = only_job(read_input.jobs, job)
    trial_options = TrialOptions(
        namespace=in_namespace,
        suffix=suffix,
        nodes=nodes,
        steps=steps,
        steps_argument=steps_argument,
        steps_variable=steps_variable,
        arguments=pairs("--arg", arguments or []),
        variables=pairs("--env", variables or []),
        deadline_seconds=deadline,
        keep_seconds=keep or 0,
    )
    trials = Trials(
        target=connect(kubeconfig, context),
        options=options,
        trial_options=trial_options,
        tolerance=comparing.tolerance(),
        extra=comparing.patterns(),
        baseline=stored(baseline) if baseline else None,
        allow_shared_output=allow_shared_output,
    )
    if export and not dry_run:
        require_writable(export)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    raise typer.Exit(asyncio.run(trials.run(job, namespace, files or [], replace=replace, dry_run=dry_run, export=export)))


def pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Parses `NAME=VALUE`. Raises InputError for another form."""
    found = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not name or not separator:
            raise InputError(f"{option} {text}: no value is given.", f"Write it like {option} NAME=VALUE.")
        found[name] = value
    return found


@dataclass(frozen=True, kw_only=True)
class Trials:
    """One trial from its source to its end."""

    target: Target
    options: Options
    trial_options: TrialOptions
    tolerance: Tolerance
    extra: Sequence[MetricPattern]
    baseline: Run | None
    allow_shared_output: bool

    async def run(
        self, job: str, namespace: str, files: Sequence[str], *, replace: bool, dry_run: bool, export: Path | None
    ) -> int:
        """The exit code."""
        async with self.target.client as client:
            source, input_context = await self._source(client, job, namespace, files)
            trial = trial_of(source, self.trial_options, self.options, input_context, now=datetime.now(UTC))
            if not dry_run:
                await replace_earlier_trial(client, trial, replace=replace)
            refusals = await self._refusals(client, source, trial)
            created = await started(client, trial, source.title, refusals, dry_run=dry_run)
            if isinstance(created, int):
                return created
            title = f"TrainJob {trial.namespace}/{trial.name}"
            try:
                return await self._followed(client, source, created, export)
            finally:
                if self.trial_options.keep_seconds:
                    errors().print(f"{title} stays for {self.trial_options.keep_seconds} s after its deadline", soft_wrap=True)
                else:
                    await removed(client, created)

    async def _source(self, client: Client, job: str, namespace: str, files: Sequence[str]) -> tuple[SourceObject, InputContext]:
        """The job, with its namespace, and the context of the input."""
        if files:
            read_input = provider.read(files)
            jobs, others = read_input.jobs, [other.value for other in read_input.others]
        else:
            live = await read_live(client, [namespace] if namespace else [])
            jobs, others = list(live.jobs), list(live.others)
        source = chosen(jobs, job, namespace)
        if not source.namespace:
            value = copy.deepcopy(source.value)
            value["metadata"]["namespace"] = namespace or client.namespace
            source = replace(source, value=value)
        return source, context_of(jobs, others)

    async def _refusals(self, client: Client, source: SourceObject, trial: Trial) -> list[Finding]:
        """The findings that prevent the trial: of its conversion, shared output locations, missing resources."""
        assert trial.conversion is not None, "it was converted from a v1 job"
        blocking = [finding for finding in trial.conversion.findings if finding.is_blocking]
        if blocking:
            return blocking
        pods = [replica.pod for replica in v2_pods(trial.train_job, trial.runtime)]
        originals = [replica.pod for replica in v1_pods(source.value, self.options)]
        return await objections(client, trial, source, pods, originals, allow_shared_output=self.allow_shared_output)

    async def _followed(self, client: Client, source: SourceObject, created: Json, export: Path | None) -> int:
        screen = RecordingDisplay(display())
        outcome = await followed(client, TRAIN_JOBS, created, screen)
        end = outcome.end
        run = await run_of(client, end.job or created, extra=self.extra, last_pods=end.pods, last_lines=screen.lines)
        try:
            if export:
                write_whole(export, encoded(run).decode())
        finally:
            # Even if the file could not be written: the trial and its logs are removed next.
            code = await self._compared(client, source, run, succeeded=outcome.succeeded)
        return code

    async def _compared(self, client: Client, source: SourceObject, run: Run, *, succeeded: bool) -> int:
        """Prints the comparison of the trial's run with the original's; returns the exit code."""
        original = self.baseline
        if original is None and (job := await live_job(client, source)):
            original = await run_of(client, job, extra=self.extra)
        if original is not None and original.is_finished:
            comparison = compared(original, run, self.tolerance)
            code = print_run_comparison(comparison)
            if succeeded and comparison.is_acceptable:
                return exit_codes.OK
            return code if code == exit_codes.DIFFERENT else exit_codes.FAILED
        why = f"{original.title} is {original.state}" if original else f"no run of {source.title} is known"
        say(f"not compared: {why}; give one with --baseline, or --export this one")
        return exit_codes.OK if succeeded else exit_codes.FAILED


async def live_job(client: Client, source: SourceObject) -> Json | None:
    """The v1 job as it is in the cluster now; None if it does not exist."""
    framework = framework_of(source)
    assert framework is not None, f"{source.title} is of no kind of v1"
    return await client.find(framework.info.resource, source.name, source.namespace)


def chosen(jobs: Sequence[SourceObject], requested: str, namespace: str) -> SourceObject:
    """The job of this name (`NAME` or `KIND/NAME`). Raises InputError if there is none, or more than one."""
    kind, _, name = requested.rpartition("/")
    matches = [
        job
        for job in jobs
        if job.name == name and kind.lower() in ("", job.kind.lower()) and namespace in ("", job.namespace or namespace)
    ]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        close = nearest(name, [job.name for job in jobs])
        raise InputError(f"there is no v1 job {requested!r}.", did_you_mean(close, "Check --namespace."))
    titles = ", ".join(job.title for job in matches)
    raise InputError(f"there are {len(matches)} jobs {name!r}: {titles}.", "Name one as KIND/NAME, with --namespace.")
