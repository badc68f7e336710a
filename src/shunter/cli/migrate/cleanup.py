"""`migrate cleanup`: deletes v1 jobs that TrainJobs have replaced."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

import typer

from shunter.api.resources import TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.options.moving import (
    DryRunOption,
    JournalOption,
    MovingScreen,
    PlanOption,
    YesOption,
    confirm,
    journal_of,
    known_journal,
    print_list,
)
from shunter.cli.migrate.trials.objects import remove_leftovers
from shunter.cli.output.console import say
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.migrate.moving import applying, gathering, waiting_train_jobs
from shunter.migrate.moving.backup import saving
from shunter.migrate.moving.cleanup_candidates import cleanup_candidates
from shunter.migrate.moving.plan import read
from shunter.migrate.own_files import beside


def cleanup(
    path: PlanOption,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    journal: JournalOption = None,
    i_know: Annotated[
        bool, typer.Option("--i-know", help="Also delete v1 jobs that do not run and meet none of these conditions.")
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Delete v1 jobs that are no longer needed. Shows them, asks for confirmation, archives and deletes them.

    Deletes jobs whose TrainJobs are Complete and compared (`migrate compare --plan`), jobs that have finished, and jobs that
    never ran and whose proved TrainJobs wait in their place. Never deletes jobs that run, that changed since the plan, or that
    another controller owns. Saves each manifest to PLAN.archive, a backup for `migrate restore`, and each run to PLAN.runs for
    `migrate compare --baseline`; a rollback recreates unfinished jobs suspended. Also removes expired trials, without asking.
    Exit codes: 0, 6 if a deletion was rejected.
    """
    plan = read(path)
    target = connect(kubeconfig, context)

    async def run() -> bool:
        async with target.client as client:
            await gathering.require_cluster_of(client, plan)
            present = await gathering.read(client, plan.namespaces)
            jobs = [source.value for source in present.jobs]
            known = await known_journal(plan, path, journal, client)
            train_jobs = await saving.listed(client, TRAIN_JOBS, plan.namespaces)
            runtimes = await saving.listed(client, TRAINING_RUNTIMES, plan.namespaces)
            objections = waiting_train_jobs.objections(plan, present, train_jobs, runtimes, known)
            found = list(cleanup_candidates(plan, jobs, train_jobs, known.records, objections=objections, i_know=i_know))
            print_list("kept:", ((candidate.job, candidate.why) for candidate in found if candidate.step is None))
            to_delete = [candidate for candidate in found if candidate.step is not None]
            print_list("to delete:", ((candidate.job, candidate.why) for candidate in to_delete))
            spaces = plan.namespaces or ("",)
            left = 0 if dry_run else sum([await remove_leftovers(client, namespace) for namespace in spaces])
            if dry_run or not to_delete:
                say("nothing else was changed" if left else "nothing was changed")
                return True
            confirm(f"Delete {len(to_delete)} v1 jobs from {target.description}?", yes=yes)
            with MovingScreen() as screen, journal_of(plan, path, journal, client) as written:
                await written.load()
                steps = [candidate.step for candidate in to_delete if candidate.step is not None]
                titles = {candidate.job for candidate in to_delete}
                archive, runs = beside(path, "archive"), beside(path, "runs")
                those = [source.value for source in present.jobs if source.title in titles]
                saving.add(archive, those, server=target.description, now=datetime.now(UTC))
                outcomes = await applying.apply(client, steps, written, screen, runs=runs)
            say(f"their manifests are in {archive}, their runs in {runs}")
            return all(outcome.is_complete for outcome in outcomes)

    if not asyncio.run(run()):
        raise typer.Exit(exit_codes.INCOMPLETE)
