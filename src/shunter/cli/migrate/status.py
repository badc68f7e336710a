"""`migrate status`: shows the progress of a plan."""

from __future__ import annotations

import asyncio

import msgspec
from rich.text import Text

from shunter.api.formats.counts import count as counted
from shunter.api.resources import TRAIN_JOBS
from shunter.cli.migrate.options.form import Form, FormOption
from shunter.cli.migrate.options.moving import JournalOption, PlanOption, known_journal, print_list
from shunter.cli.output.console import Output, output, plain_table, print_as, print_table
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.migrate.moving import gathering
from shunter.migrate.moving.backup.saving import listed
from shunter.migrate.moving.plan import read
from shunter.migrate.moving.plan_progress import Progress, progress

STAGE_COLOURS = {"half done": "bold red", "compared": "green", "finished": "green", "running": "cyan", "made": "yellow"}


def status(
    path: PlanOption,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    journal: JournalOption = None,
    form: FormOption = Form.table,
) -> None:
    """Show the progress of a plan: each job, its TrainJob and next step, and what is left of v1. Read-only."""
    plan = read(path)
    target = connect(kubeconfig, context)

    async def run() -> Progress:
        async with target.client as client:
            await gathering.require_cluster_of(client, plan)
            known = await known_journal(plan, path, journal, client)
            jobs = [source.value for source in (await gathering.read(client, plan.namespaces)).jobs]
            return progress(plan, known.records, jobs, await listed(client, TRAIN_JOBS, plan.namespaces))

    found = asyncio.run(run())
    if form is Form.json:
        print_as(msgspec.to_builtins(found), Output.json)
    else:
        show_progress(found)


def show_progress(found: Progress) -> None:
    """Prints a row for each job of the plan, the sums, and what needs a look: jobs made since, and steps that were not ended."""
    table = plain_table("WAVE", "JOB", "ACTION", "V1", "TRAINJOB", "STAGE", "NEXT")
    for row in found.rows:
        stage = Text(row.stage, style=STAGE_COLOURS.get(row.stage, "default"))
        table.add_row(row.wave, row.job, row.action, row.v1, row.train_job, stage, row.next)
    print_table(table)
    stages = ", ".join(f"{count} {stage}" for stage, count in found.stages.items())
    left = ", ".join(f"{count} {state}" for state, count in found.left.items())
    output().print(f"\n{counted(len(found.rows), 'job')} of the plan: {stages or 'none'}", soft_wrap=True)
    output().print(f"remaining v1 jobs: {left or 'none'}", soft_wrap=True)
    print_list("created after the plan:", ((title, "") for title in found.unplanned))
    print_list("interrupted; run apply or rollback again:", ((step, "") for step in found.half_done))
