"""O1: the operator is killed after any write. Whoever takes over ends where an undisturbed operator ends, by the same objects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pytest

from faults import invariants
from faults.conftest import NewStage
from faults.history import History
from faults.lives import LIVES
from faults.operators import Operator
from faults.scenarios import Scenario, Stage
from player.compare import differences
from player.shape import Json
from shunter.kube.faults import Request
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(300)

QUIET = 0.4
"""Seconds without a change after which the undisturbed run takes the cluster as being at rest."""
AT_ONCE = 16
"""Lives that are led at the same time, each in its own namespace."""
WITHIN = 60.0


class Undisturbed(NamedTuple):
    """What a life looks like without faults."""

    shown: Sequence[Json]
    """After each step."""
    writes: int
    incarnations: Mapping[str, int]
    events: Mapping[tuple[str, ...], int]


class Shift:
    """Operators of one namespace, one after the other: each is killed after so many writes as `kills` says, the last is not."""

    def __init__(self, server: Connection, stage: Stage, kills: Iterable[int]) -> None:
        self._server = server
        self._stage = stage
        self._kills = kills
        self._task = asyncio.create_task(self._run())
        self.operators: list[Operator] = []

    async def _run(self) -> None:
        for writes in self._kills:
            operator = self._next()
            operator.faults.kill_after(writes)
            operator.start()
            await operator.ended()
        self._next().start()

    def _next(self) -> Operator:
        operator = Operator(self._server, namespaces=[self._stage.namespace], clock=self._stage.clock)
        self.operators.append(operator)
        return operator

    @property
    def requests(self) -> list[Request]:
        return [request for operator in self.operators for request in operator.sent.writes if "/events" not in request.path]

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.operators[-1].stop()


async def undisturbed(server: Connection, history: History, stage: Stage, scenario: Scenario) -> Undisturbed:
    shift = Shift(server, stage, [])
    shown = []
    try:
        for step in scenario.steps:
            await stage.take(step)
            await history.quiet(stage.namespace, seconds=QUIET)
            assert step.reached(stage), step.name
            shown.append(stage.shown())
    finally:
        await shift.end()
    await history.quiet(stage.namespace, seconds=QUIET)
    invariants.check(history, stage.namespace)
    return Undisturbed(
        shown,
        len(shift.requests),
        invariants.incarnations(history, stage.namespace),
        counted(history, stage),
    )


async def disturbed(
    server: Connection, history: History, stage: Stage, scenario: Scenario, wanted: Undisturbed, kills: Sequence[int]
) -> None:
    """Leads the life with these kills; fails where it ends up anywhere else."""

    shift = Shift(server, stage, kills)
    try:
        for step, shown in zip(scenario.steps, wanted.shown, strict=True):
            await step.act(stage)
            await becomes(stage, shown, f"killed after {kills[:5]} writes, {step.name}")
    finally:
        await shift.end()
    await history.quiet(stage.namespace, seconds=QUIET)
    invariants.check(history, stage.namespace)
    invariants.writes_are_bounded(shift.requests, each=5 * len(scenario.steps))
    assert invariants.incarnations(history, stage.namespace) == wanted.incarnations
    told = counted(history, stage)
    more = {note: count for note, count in told.items() if count > wanted.events.get(note, 0)}
    assert not more, f"told more often than without kills: {more}, {wanted.events}"


async def becomes(stage: Stage, shown: Json, when: str) -> None:
    """Returns when the cluster holds just this."""

    def difference() -> str:
        return "\n".join(map(str, differences(shown, stage.shown())))

    await stage.history.until(lambda: not difference(), seconds=WITHIN, otherwise=lambda: f"{when}:\n{difference()}")


def counted(history: History, stage: Stage) -> Mapping[tuple[str, ...], int]:
    """How often each event happened, without uids and the namespace."""
    counts = invariants.event_counts(history, stage.namespace)
    return {
        (kind, name, reason, message.replace(stage.namespace, "NAMESPACE")): count
        for (kind, name, _, reason, message), count in counts.items()
    }


@pytest.mark.parametrize("scenario", LIVES, ids=lambda scenario: scenario.name)
async def test_killed_after_any_write_it_ends_as_if_it_had_not_been(
    server: Connection, history: History, new_stage: NewStage, scenario: Scenario
) -> None:
    wanted = await undisturbed(server, history, await new_stage(), scenario)
    assert wanted.writes > 2
    gate = asyncio.Semaphore(AT_ONCE)

    async def killed(kills: Sequence[int]) -> None:
        async with gate:
            await disturbed(server, history, await new_stage(), scenario, wanted, kills)

    async with asyncio.TaskGroup() as group:
        for writes in range(1, wanted.writes + 1):
            group.create_task(killed([writes]))
        group.create_task(killed([1] * 3 * wanted.writes))
