"""`migrate plan`: writes an editable file with the action for each v1 job of a cluster."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.migrate.findings.suppressions import ConfigurationOption, entries
from shunter.cli.migrate.options.conversion import ConversionOptions, SuffixOption
from shunter.cli.migrate.options.moving import NamespacesOption
from shunter.cli.options.option_groups import grouped
from shunter.cli.output.console import busy, errors, note
from shunter.cli.output.progress import counting
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.cluster.target import Target
from shunter.migrate.moving.plan import Plan, text
from shunter.migrate.moving.planning import PlanOptions
from shunter.migrate.options import Options
from shunter.migrate.use_cases.plan import Gathered, gathered, planned_of
from shunter.migrate.writing import write_whole


class Strategy(StrEnum):
    """Values of `--strategy`: wave by wave beside v1, or all at once after v1 has drained."""

    side_by_side = "side-by-side"
    replacement = "replacement"


class Running(StrEnum):
    """Values of `--running`: the action for running jobs."""

    wait = "wait"
    move = "move"
    leave = "leave"


class FreezeChoice(StrEnum):
    """Values of `--freeze`: whether new v1 jobs are allowed, warned about or refused."""

    none = "none"
    warn = "warn"
    deny = "deny"


StrategyOption = Annotated[
    Strategy,
    typer.Option(
        "--strategy", help="side-by-side: wave by wave, v1 and v2 together. replacement: drain v1, then replace everything."
    ),
]
RunningOption = Annotated[
    Running,
    typer.Option("--running", help="Running jobs: wait for their end, move them (resume from a checkpoint), or leave them."),
]
FreezeOption = Annotated[
    FreezeChoice | None,
    typer.Option(
        "--freeze",
        help="Warn on creation of v1 jobs, or deny it [default: warn with side-by-side, deny with replacement, none before "
        "Kubernetes 1.30].",
    ),
]
JournalNamespaceOption = Annotated[str, typer.Option("--journal-namespace", help="Namespace for the ConfigMaps of the journal.")]


@grouped
def plan(
    *,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespaces: NamespacesOption = None,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Output file [default: standard output].")] = None,
    strategy: StrategyOption = Strategy.side_by_side,
    running: RunningOption = Running.wait,
    freeze: FreezeOption = None,
    journal_namespace: JournalNamespaceOption = "default",
    configuration: ConfigurationOption = None,
    flags: ConversionOptions,
    suffix: SuffixOption = "",
) -> None:
    """Plan the migration of a cluster's v1 jobs: an editable file with every decision and its reason. Read-only.

    The same cluster gives the same plan. Execute it with `migrate apply --plan`.
    """
    options = flags.meaning(suspend=True, suffix=suffix)
    plan_options = plan_options_of(namespaces, strategy, running, freeze, journal_namespace)
    found = planned_for(connect(kubeconfig, context), plan_options, options, configuration)
    if out is None:
        sys.stdout.write(text(found))
    else:
        write_whole(out, text(found))
    print_plan(found)


def plan_options_of(
    namespaces: list[str] | None,
    strategy: Strategy,
    running: Running,
    freeze: FreezeChoice | None,
    journal_namespace: str,
) -> PlanOptions:
    """The flags as options of `planning`, namespaces sorted. Without --freeze, None: it then depends on the strategy."""
    return PlanOptions(
        strategy=strategy.value,
        namespaces=tuple(sorted(namespaces or ())),
        running=running.value,
        freeze=freeze.value if freeze else None,
        journal_namespace=journal_namespace,
    )


def planned_for(target: Target, plan_options: PlanOptions, options: Options, configuration: Path | None) -> Plan:
    """The plan for a cluster; closes the client."""

    async def read() -> Gathered:
        async with target.client as client:
            return await gathered(client, target.description, plan_options)

    with busy("reading the cluster"):
        found = asyncio.run(read())
    return planned_of(found, plan_options, options, entries(configuration), counting)


def print_plan(found: Plan) -> None:
    """Prints how many jobs have which action, and what could not be read."""
    counts = Counter(item.action for item in found.items)
    actions = ", ".join(f"{count} {action}" for action, count in sorted(counts.items())) or "no v1 jobs"
    errors().print(f"plan {found.id} ({found.strategy}, freeze {found.freeze}): {actions}", soft_wrap=True)
    for unread in found.unread:
        note(f"no permission to read, skipped: {unread}")
