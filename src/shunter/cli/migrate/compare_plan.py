"""`migrate compare --plan`: the jobs of a plan with their TrainJobs, by what `apply` kept of those that it moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from shunter.cluster.target import Target
    from shunter.jobs.logs.metrics import MetricPattern
    from shunter.kube.client import Client
    from shunter.migrate.moving.plan import Plan
    from shunter.migrate.moving.runs.comparison import Comparison, Tolerance
    from shunter.migrate.moving.runs.record import Run


async def compared_by_plan(
    path: Path, target: Target, names: Sequence[str], tolerance: Tolerance, extra: Sequence[MetricPattern]
) -> list[Comparison]:
    """The comparisons of the plan's jobs that are named, or of all whose TrainJobs have finished and did not pass before; each is
    noted for `migrate cleanup`. InputError for a name that the plan does not have."""
    from shunter.cli.migrate.compare import noted
    from shunter.errors import InputError
    from shunter.migrate.moving import gathering
    from shunter.migrate.moving.plan import read
    from shunter.migrate.moving.runs.comparison import compared

    plan = read(path)
    for name in names:
        if not any(_is_named(item.kind, item.name, name) for item in plan.items):
            raise InputError(f"--plan {path}: it has no job {name!r}.", "Name one of its jobs, as NAME or KIND/NAME.")
    found = []
    async with target.client as client:
        await gathering.require_cluster_of(client, plan)
        async for original, successor in _runs(client, plan, path, names, extra):
            comparison = compared(original, successor, tolerance)
            await noted(client, comparison)
            found.append(comparison)
    return found


async def _runs(
    client: Client, plan: Plan, path: Path, names: Sequence[str], extra: Sequence[MetricPattern]
) -> AsyncIterator[tuple[Run, Run]]:
    """Both runs of each job; says which jobs are left out, and why."""
    from shunter.api.resources import TRAIN_JOBS
    from shunter.cli.migrate.options.moving import tell_each
    from shunter.migrate.moving import gathering, past_runs
    from shunter.migrate.moving.backup.taking import listed
    from shunter.migrate.moving.marks import COMPARED, PASSED, mark, twins_of
    from shunter.migrate.moving.runs.reading import run_of
    from shunter.migrate.own_files import beside
    from shunter.operator.overview import overview

    jobs = {source.title: source.value for source in (await gathering.read(client, plan.namespaces)).jobs}
    twins = twins_of(plan.id, await listed(client, TRAIN_JOBS, plan.namespaces))
    left_out = []
    for item in plan.items:
        if names and not any(_is_named(item.kind, item.name, name) for name in names):
            continue
        twin, job = twins.get(item.title), jobs.get(item.title)
        if twin is None or (not names and mark(twin, COMPARED) in PASSED):
            continue
        if not names and not overview(twin).is_finished:
            left_out.append((item.title, f"TrainJob {twin['metadata']['name']} is {overview(twin).state}"))
            continue
        kept = past_runs.kept(beside(path, "runs"), item.title)
        original = await past_runs.original_run(client, job, kept, went_on=item.action == "create", extra=extra)
        if original is None:
            left_out.append((item.title, f"it is gone, and {beside(path, 'runs')} has no run of it"))
            continue
        yield original, await run_of(client, twin, extra=extra)
    tell_each("not compared:", left_out)


def _is_named(kind: str, name: str, wanted: str) -> bool:
    wanted_kind, _, wanted_name = wanted.rpartition("/")
    return name == wanted_name and wanted_kind.lower() in ("", kind.lower())


def print_list(comparisons: Sequence[Comparison]) -> None:
    """A line for each: the verdict, and what decided it or was not seen."""
    from rich.markup import escape

    from shunter.cli.migrate.compare import VERDICT_COLOURS
    from shunter.cli.output.console import plain_table, print_table

    table = plain_table("ORIGINAL", "SUCCESSOR", "VERDICT", "WHY")
    for one in comparisons:
        deciding = [aspect for aspect in one.aspects if aspect.decides and aspect.verdict == one.verdict and aspect.why]
        why = "; ".join(f"{aspect.name}: {aspect.why}" for aspect in deciding)
        if one.unseen:
            why = f"not seen: {', '.join(one.unseen)}"
        verdict = f"[{VERDICT_COLOURS[one.verdict]}]{one.verdict}[/]"
        table.add_row(escape(one.original.title), escape(one.successor.title), verdict, escape(why))
    print_table(table)
