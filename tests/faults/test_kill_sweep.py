"""O1: the operator is killed after any write. Whoever takes over ends where an undisturbed operator ends, by the same objects."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from faults import invariants
from faults.conftest import NewStage, Reference
from faults.disturbance import Disturb, disturbed
from faults.history import History
from faults.lives import LIVES
from faults.operators import Operator
from faults.scenarios import Scenario
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(600)

AT_ONCE = 16
"""Lives that are led at the same time, each in its own namespace."""


def killed_after(writes: int) -> Disturb:
    return lambda operator: operator.faults.kill_after(writes)


def let_live(_: Operator) -> None:
    """The last operator is not killed."""


@pytest.mark.parametrize("scenario", LIVES, ids=lambda scenario: scenario.name)
async def test_killed_after_any_write_it_ends_as_if_it_had_not_been(
    server: Connection, history: History, new_stage: NewStage, reference: Reference, scenario: Scenario
) -> None:
    wanted = await reference(scenario)
    assert wanted.writes > 2
    gate = asyncio.Semaphore(AT_ONCE)

    async def lead(kills: Sequence[int], about: str) -> None:
        async with gate:
            disturb = [*map(killed_after, kills), let_live]
            shift = await disturbed(server, history, await new_stage(), scenario, wanted, disturb, about=about)
            invariants.writes_are_bounded(shift.requests, each=5 * len(scenario.steps) + len(kills))

    async with asyncio.TaskGroup() as group:
        for writes in range(1, wanted.writes + 1):
            group.create_task(lead([writes], f"killed after {writes} writes"))
        group.create_task(lead([1] * 3 * wanted.writes, "killed after every write"))
