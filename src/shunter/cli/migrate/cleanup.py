"""`migrate cleanup`: v1 jobs whose TrainJobs took their place."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.console import errors
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.moving_options import (
    DryRunOption,
    JournalOption,
    MovingScreen,
    PlanOption,
    YesOption,
    confirm,
    journal_of,
    known_journal,
    tell_each,
)
from shunter.cli.target import ContextOption, KubeconfigOption


def cleanup(
    path: PlanOption,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    journal: JournalOption = None,
    i_know: Annotated[
        bool, typer.Option("--i-know", help="Delete v1 jobs that do not run though their TrainJobs proved nothing yet.")
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Delete the v1 jobs whose TrainJobs are Complete and were compared (`migrate compare`). Shows them, asks, deletes.

    Jobs that run, that are not as they were planned for, or that somebody else looks after, stay in any case. What is deleted
    is in the journal: a rollback brings it back, suspended. Trials whose time is over go as well, without a question. Exit
    codes: 0, 6 when a deletion was refused.
    """
    import asyncio

    from shunter.api.resources import TRAIN_JOBS
    from shunter.cli.migrate.trial import remove_leftovers
    from shunter.cli.target import connect
    from shunter.migrate.backup.taking import listed
    from shunter.migrate.moving import applying, gathering
    from shunter.migrate.moving.plan import read
    from shunter.migrate.moving.tidying import tidied

    plan = read(path)
    target = connect(kubeconfig, context)

    async def run() -> bool:
        async with target.client as client:
            await gathering.require_cluster_of(client, plan)
            jobs = [source.value for source in (await gathering.read(client, plan.namespaces)).jobs]
            known = await known_journal(plan, path, journal, client)
            train_jobs = await listed(client, TRAIN_JOBS, plan.namespaces)
            found = list(tidied(plan, jobs, train_jobs, known.records, i_know=i_know))
            tell_each("these stay:", ((tidying.job, tidying.why) for tidying in found if tidying.step is None))
            going = [tidying for tidying in found if tidying.step is not None]
            tell_each("these go:", ((tidying.job, tidying.why) for tidying in going))
            spaces = plan.namespaces or ("",)
            left = 0 if dry_run else sum([await remove_leftovers(client, namespace) for namespace in spaces])
            if dry_run or not going:
                errors().print("nothing else was changed" if left else "nothing was changed")
                return True
            confirm(f"Delete {len(going)} v1 jobs from {target.description}?", yes=yes)
            with MovingScreen() as screen, journal_of(plan, path, journal, client) as written:
                await written.load()
                steps = [tidying.step for tidying in going if tidying.step is not None]
                outcomes = await applying.apply(client, steps, written, screen)
            return all(outcome.is_complete for outcome in outcomes)

    if not asyncio.run(run()):
        raise typer.Exit(exit_codes.INCOMPLETE)
