"""`migrate compare --plan`: compares the jobs of a plan with their TrainJobs; for jobs that `apply` moved, the saved runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from shunter.api.resources import TRAIN_JOBS
from shunter.cli.migrate.options.moving import print_list
from shunter.cli.output.console import note
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.jobs.logs.metrics import MetricPattern
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.migrate.moving import comparisons, gathering, saved_runs
from shunter.migrate.moving.annotations import COMPARED, created_train_jobs, mark
from shunter.migrate.moving.backup.saving import listed
from shunter.migrate.moving.plan import Plan, read
from shunter.migrate.moving.runs.comparison import Comparison, Tolerance, compared
from shunter.migrate.moving.runs.reading import run_of
from shunter.migrate.moving.runs.record import Run
from shunter.migrate.own_files import beside
from shunter.migrate.run_verdicts import PASSED
from shunter.operator.overview import overview


async def compared_by_plan(
    path: Path, target: Target, names: Sequence[str], tolerance: Tolerance, extra: Sequence[MetricPattern]
) -> list[Comparison]:
    """The comparisons of the plan's jobs that are named, or of all whose TrainJobs have finished and did not pass before; each is
    recorded for `migrate cleanup`. InputError for a name that the plan does not have."""
    plan = read(path)
    for name in names:
        if not any(_is_named(item.kind, item.name, name) for item in plan.items):
            raise InputError(f"--plan {path}: it has no job {name!r}.", "Name one of its jobs, as NAME or KIND/NAME.")
    found = []
    async with target.client as client:
        await gathering.require_cluster_of(client, plan)
        async for original, successor in _runs(client, plan, path, names, extra):
            comparison = compared(original, successor, tolerance)
            await record_verdict(client, comparison)
            found.append(comparison)
    return found


async def _runs(
    client: Client, plan: Plan, path: Path, names: Sequence[str], extra: Sequence[MetricPattern]
) -> AsyncIterator[tuple[Run, Run]]:
    """Both runs of each job; prints which jobs are left out, and why."""
    jobs = {source.title: source.value for source in (await gathering.read(client, plan.namespaces)).jobs}
    created = created_train_jobs(plan.id, await listed(client, TRAIN_JOBS, plan.namespaces))
    left_out = []
    for item in plan.items:
        if names and not any(_is_named(item.kind, item.name, name) for name in names):
            continue
        train_job, job = created.get(item.title), jobs.get(item.title)
        if train_job is None or (not names and mark(train_job, COMPARED) in PASSED):
            continue
        if not names and not overview(train_job).is_finished:
            left_out.append((item.title, f"TrainJob {train_job['metadata']['name']} is {overview(train_job).state}"))
            continue
        saved = saved_runs.saved(beside(path, "runs"), item.title)
        original = await saved_runs.original_run(client, job, saved, went_on=item.action == "create", extra=extra)
        if original is None:
            left_out.append((item.title, f"it was deleted, and {beside(path, 'runs')} has no run of it"))
            continue
        yield original, await run_of(client, train_job, extra=extra)
    print_list("not compared:", left_out)


def _is_named(kind: str, name: str, requested: str) -> bool:
    kind_part, _, name_part = requested.rpartition("/")
    return name == name_part and kind_part.lower() in ("", kind.lower())


async def record_verdict(client: Client, comparison: Comparison) -> None:
    """Records the result for `migrate cleanup` if a plan created the successor from the original; prints why if it is not
    recorded."""
    original, successor = comparison.original, comparison.successor
    try:
        why = await comparisons.record(client, original, successor, comparison.verdict, comparison.unobserved)
    except ApiError as error:
        why = error.message
    if why:
        note(f"the verdict is not recorded for cleanup: {why}")
