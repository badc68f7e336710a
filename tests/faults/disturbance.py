"""A life with faults beside the same life without: both must come to the same, by the same objects."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from fault_transport import Request
from faults import invariants
from faults.history import History
from faults.operators import Operator
from faults.scenarios import Scenario, Stage
from player.compare import differences
from player.shape import Json
from shunter.kube.cache.reflector import Timing
from shunter.kube.kubeconfig import Connection

QUIET = 0.4
"""Seconds without a change after which a cluster is taken as being at rest."""
WITHIN = 120.0
"""Seconds in which a step must come to its end, whatever the faults."""

EVERY_WRITE = bool(os.environ.get("EVERY_WRITE"))

Disturb = Callable[[Operator], object]
"""What is done to an operator before it starts."""


T = TypeVar("T")


def swept(moments: Sequence[T]) -> list[T]:
    """The moments at which something is done: all of them with EVERY_WRITE=1, else every third, the first and the last included,
    since on the real control plane each costs seconds."""
    return [*moments] if EVERY_WRITE else [*moments[:-1:3], moments[-1]]


class Undisturbed(NamedTuple):
    """What a life looks like without faults."""

    shown: Sequence[Json]
    """After each step."""
    writes: int
    incarnations: Mapping[str, int]
    events: Mapping[tuple[str, ...], int]


class Shift:
    """Operators of one namespace, one after the other: all but the last are to be killed by what is done to them."""

    def __init__(self, server: Connection, stage: Stage, disturb: Sequence[Disturb], timing: Timing) -> None:
        self._server = server
        self._stage = stage
        self._timing = timing
        self._task = asyncio.create_task(self._run(disturb))
        self.operators: list[Operator] = []

    async def _run(self, disturb: Sequence[Disturb]) -> None:
        for one in disturb:
            await self._ended()
            operator = Operator(self._server, namespaces=[self._stage.namespace], clock=self._stage.clock, timing=self._timing)
            one(operator)
            self.operators.append(operator)
            operator.start()

    async def _ended(self) -> None:
        if self.operators:
            await self.operators[-1].ended()

    @property
    def requests(self) -> list[Request]:
        """What they wrote, without events."""
        return [request for operator in self.operators for request in operator.sent.writes if "/events" not in request.path]

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self.operators[-1].faults.heal()
        await self.operators[-1].stop()


async def undisturbed(server: Connection, history: History, stage: Stage, scenario: Scenario) -> Undisturbed:
    """Leads the life without faults."""
    shift = Shift(server, stage, [lambda operator: None], Timing())
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
        shown, len(shift.requests), invariants.incarnations(history, stage.namespace), counted_events(history, stage)
    )


async def disturbed(
    server: Connection,
    history: History,
    stage: Stage,
    scenario: Scenario,
    wanted: Undisturbed,
    disturb: Sequence[Disturb],
    *,
    about: str,
    timing: Timing = Timing(),  # noqa: B008 -- frozen
) -> Shift:
    """Leads the life with an operator for each of `disturb`; fails where it ends up anywhere else, or breaks an invariant."""
    shift = Shift(server, stage, disturb, timing)
    try:
        for step, shown in zip(scenario.steps, wanted.shown, strict=True):
            await step.act(stage)
            await becomes(stage, shown, f"{about}, {step.name}")
    finally:
        await shift.end()
    await history.quiet(stage.namespace, seconds=QUIET)
    invariants.check(history, stage.namespace)
    made = invariants.incarnations(history, stage.namespace)
    assert made == wanted.incarnations, f"{about}: made {made} instead of {wanted.incarnations}"
    told = counted_events(history, stage)
    more = {note: count for note, count in told.items() if count > wanted.events.get(note, 0) and "Fail" not in note[2]}
    assert not more, f"{about}: told more often than without faults: {more}, {wanted.events}"
    return shift


async def becomes(stage: Stage, shown: Json, when: str) -> None:
    """Returns when the cluster holds just this."""

    def difference() -> str:
        return "\n".join(map(str, differences(shown, stage.shown())))

    await stage.history.until(lambda: stage.shown() == shown, seconds=WITHIN, otherwise=lambda: f"{when}:\n{difference()}")


def counted_events(history: History, stage: Stage) -> Mapping[tuple[str, ...], int]:
    """How often each event happened, without uids and the namespace."""
    counts = invariants.event_counts(history, stage.namespace)
    return {
        (kind, name, reason, message.replace(stage.namespace, "NAMESPACE")): count
        for (kind, name, _, reason, message), count in counts.items()
    }
