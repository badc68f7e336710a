"""`migrate test FILE`: runs the TrainJob of a file, unchanged, under another name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.trials.objects import objections, removed, replace_earlier_trial, started
from shunter.cli.output.console import say
from shunter.cli.output.display import RecordingDisplay, display
from shunter.cli.output.following import followed
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden, NotFound
from shunter.kube.manifests import SUFFIXES
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.findings import Finding
from shunter.migrate.moving.annotations import SOURCE, mark
from shunter.migrate.moving.runs.converted_trial import Naming, trial_of_converted
from shunter.migrate.moving.runs.trial import Trial
from shunter.migrate.moving.steps import V1_JOBS
from shunter.migrate.pods.sides import v1_pods, v2_pods


def is_path(argument: str) -> bool:
    """Whether an argument is a file, and not the name of a job."""
    return argument == "-" or argument.endswith(SUFFIXES) or Path(argument).exists()


def only_job(jobs: Sequence[SourceObject], path: str) -> str:
    """The v1 job of a file, as KIND/NAME. InputError when it holds none, or more than one."""
    if len(jobs) == 1:
        return f"{jobs[0].kind}/{jobs[0].name}"
    if not jobs:
        raise InputError(f"{path}: it contains neither a v1 job nor a TrainJob.", "Name a file that has one.")
    raise InputError(f"{path}: it contains {len(jobs)} v1 jobs.", f"Choose one: shunter migrate test {jobs[0].name} -f {path}")


async def deployed(
    target: Target,
    job: SourceObject,
    objects: Sequence[SourceObject],
    naming: Naming,
    *,
    allow_shared_output: bool,
    replace: bool,
    dry_run: bool,
) -> int:
    """Runs the trial and follows it; the exit code."""
    async with target.client as client:
        naming = naming._replace(namespace=naming.namespace or client.namespace)
        trial = trial_of_converted(job, objects, naming, now=datetime.now(UTC))
        if not dry_run:
            await replace_earlier_trial(client, trial, replace=replace)
        refusals = await _refusals(client, job, trial, allow_shared_output=allow_shared_output)
        created = await started(client, trial, job.title, refusals, dry_run=dry_run)
        if isinstance(created, int):
            return created
        title = f"TrainJob {trial.namespace}/{trial.name}"
        try:
            outcome = await followed(client, TRAIN_JOBS, created, RecordingDisplay(display()))
        finally:
            if naming.keep_seconds:
                stays = f"{title} stays for {naming.keep_seconds} s after its deadline; compare it:"
                command = f"shunter migrate compare {_original(job)} {trial.name} -n {trial.namespace}"
                say(f"{stays} {command}")
            else:
                await removed(client, created)
        return exit_codes.OK if outcome.succeeded else exit_codes.FAILED


def _original(job: SourceObject) -> str:
    """The v1 job from which the TrainJob was converted, as an argument of `compare`; else the one of its name."""
    kind, _, place = mark(job.value, SOURCE).partition(" ")
    return f"{kind}/{place.rpartition('/')[2]}" if place else job.name


async def _refusals(client: Client, job: SourceObject, trial: Trial, *, allow_shared_output: bool) -> list[Finding]:
    """The findings that prevent the trial: shared output locations, missing resources."""
    pods = [replica.pod for replica in v2_pods(trial.train_job, trial.runtime or await _of_cluster(client, trial))]
    original = await _live_original(client, job, trial.namespace)
    originals = [replica.pod for replica in v1_pods(original)] if original else []
    return await objections(client, trial, job, pods, originals, allow_shared_output=allow_shared_output)


async def _of_cluster(client: Client, trial: Trial) -> Json:
    """The runtime that the trial refers to. InputError if it does not exist."""
    reference = trial.train_job["spec"]["runtimeRef"]
    resource = TRAINING_RUNTIMES if reference.get("kind") == TRAINING_RUNTIMES.kind else CLUSTER_TRAINING_RUNTIMES
    namespace = trial.namespace if resource == TRAINING_RUNTIMES else ""
    try:
        return await client.get(resource, reference["name"], namespace)
    except NotFound as error:
        raise InputError(
            f"TrainJob {trial.name}: spec.runtimeRef: {resource.kind} {reference['name']} is in neither file nor cluster.",
            "Name the file or folder that has it with -f, or apply it first.",
        ) from error


async def _live_original(client: Client, job: SourceObject, namespace: str) -> Json | None:
    """The v1 job from which the TrainJob was converted; None if it does not exist, or may not be read."""
    kind, _, place = mark(job.value, SOURCE).partition(" ")
    at, _, name = place.rpartition("/")
    if kind not in V1_JOBS:
        return None
    try:
        return await client.get(V1_JOBS[kind], name, at or namespace)
    except (Forbidden, NotFound):
        return None
