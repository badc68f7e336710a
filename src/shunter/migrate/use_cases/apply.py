"""Executes a plan (`moving.run_plan`), with journal and files in the same places as the commands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from shunter.kube.client import Client
from shunter.migrate.moving import gathering
from shunter.migrate.moving.applying import Outcome, Screen
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import read
from shunter.migrate.moving.run_plan import Run, run
from shunter.migrate.own_files import beside


class NoScreen:
    """Shows nothing."""

    def begin(self, total: int) -> None:
        """Does nothing."""

    def done(self, outcome: Outcome) -> None:
        """Does nothing."""


async def apply(
    client: Client,
    path: Path,
    *,
    waves: Sequence[str] = (),
    journal: Path | None = None,
    screen: Screen = NoScreen(),  # noqa: B008
) -> Run:
    """Executes the plan in a file, or some of its waves.

    Every write is recorded in a journal (a file and ConfigMaps) before it is made; after an interruption the same call continues,
    and `migrate rollback` undoes what is recorded.

    Raises InputError if the plan is for another cluster, EnvironmentProblem while another process executes it.
    """
    plan = read(path)
    await gathering.require_cluster_of(client, plan)
    with Journal(journal or beside(path, "journal"), plan.id, client, plan.journal_namespace) as written:
        await written.load()
        return await run(
            client,
            plan,
            written,
            screen,
            waves=waves,
            backup=path.parent / plan.backup,
            runs=beside(path, "runs"),
            now=datetime.now(UTC),
        )
