"""Planning the migration of a cluster's v1 jobs: an editable file with every decision and its reason. Read-only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from shunter.kube.client import Client
from shunter.migrate.conversion import suppression
from shunter.migrate.conversion.source.live import require_namespaces
from shunter.migrate.conversion.suppression import Entry
from shunter.migrate.moving import gathering
from shunter.migrate.moving.gathering import Input
from shunter.migrate.moving.plan import Plan
from shunter.migrate.moving.planning import Cluster, PlanOptions, planned
from shunter.migrate.options import Options
from shunter.migrate.use_cases.progress import Progress, silent


class Gathered(NamedTuple):
    """What a plan is made of."""

    found: Input
    cluster: Cluster
    unread: tuple[str, ...]
    """What may not be read, and was not looked at."""


async def plan(
    client: Client,
    plan_options: PlanOptions = PlanOptions(),  # noqa: B008
    options: Options = Options(suspend=True),  # noqa: B008
    *,
    server: str = "",
    entries: Sequence[Entry] = (),
) -> Plan:
    """The plan for a cluster; the same cluster gives the same plan. `server` is what the plan calls the cluster, `entries` are
    those of a `migration.yaml`. Raises EnvironmentProblem when jobs may not be read, InputError for a missing namespace."""
    return planned_of(await gathered(client, server, plan_options), plan_options, options, entries)


async def gathered(client: Client, server: str, plan_options: PlanOptions) -> Gathered:
    """All that `planned_of` looks at."""
    await require_namespaces(client, plan_options.namespaces)
    found = await gathering.read(client, plan_options.namespaces)
    cluster, unread = await gathering.cluster(client, server, plan_options.namespaces)
    return Gathered(found, cluster, (*found.unread, *unread))


def planned_of(
    given: Gathered,
    plan_options: PlanOptions,
    options: Options,
    entries: Sequence[Entry] = (),
    progress: Progress = silent,
) -> Plan:
    """Pure: the plan for what was gathered."""
    with progress("deciding", len(given.found.jobs)) as advance:
        batch = given.found.batch(options, advance)
    batch, _ = suppression.suppressed(batch, [], entries, datetime.now(UTC).date())
    return planned(given.found.shared(batch), given.cluster, plan_options, list(given.unread))
