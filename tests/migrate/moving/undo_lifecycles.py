"""Lives of plans that are disturbed at one write, on their way forward or back, and what must be so at each point of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from typing import Literal, NamedTuple

from fault_transport import Killed
from migrate.moving.moves import Moves
from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, TRAIN_JOBS
from shunter.errors import ShunterError
from shunter.kube.client import Client
from shunter.kube.errors import NotFound
from shunter.migrate.moving.annotations import SOURCE, mark
from shunter.migrate.moving.plan import Plan
from shunter.migrate.moving.planning import PlanOptions
from shunter.migrate.moving.rollback_decisions import Undo
from shunter.operator.overview import is_suspended, overview

Disturbance = Literal["killed", "refused"]
DISTURBANCES: tuple[Disturbance, ...] = ("killed", "refused")
JOBS = {"runs": False, "waits": True}
"""The jobs of each life, and whether they are suspended."""
PYTORCH_DEFINITION = "pytorchjobs.kubeflow.org"


class Way(NamedTuple):
    """What is done before it is taken back."""

    plan_options: PlanOptions = PlanOptions(running="move")
    cleans_up: bool = False
    """The v1 jobs are deleted, though nobody compared anything."""
    finalizes: bool = False
    """And then their definition."""


async def begun(moves: Moves, way: Way) -> Plan:
    for name, suspend in JOBS.items():
        await moves.submit(name, suspend=suspend, args=["--name", name])
        await moves.until_state(name, "Suspended" if suspend else "Created")
    return await moves.plan(way.plan_options)


async def go_forward(moves: Moves, plan: Plan, way: Way, client: Client | None = None) -> None:
    if not (await moves.apply(plan, client=client)).is_complete:
        return
    if way.cleans_up and not all(outcome.is_complete for outcome in await moves.clean_up(plan, client=client, i_know=True)):
        return
    if way.finalizes:
        await moves.finalize(plan, [PYTORCH_DEFINITION], client=client)


async def writes_forward(moves: Moves, way: Way) -> int:
    plan = await begun(moves, way)
    async with moves.counting() as (client, count):
        await go_forward(moves, plan, way, client)
    if way.cleans_up:
        assert [await moves.v1(name) for name in JOBS] == [{}, {}]
    if way.finalizes:
        await until_gone(moves, PYTORCH_DEFINITION)
    await restored(moves, plan)
    return count()


async def until_gone(moves: Moves, definition: str, *, seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        with contextlib.suppress(NotFound):
            while True:
                await moves.client.get(CUSTOM_RESOURCE_DEFINITIONS, definition)
                await asyncio.sleep(0.1)


async def writes_back(moves: Moves, way: Way) -> int:
    plan = await begun(moves, way)
    await go_forward(moves, plan, way)
    async with moves.counting() as (client, count):
        await moves.roll_back(plan, client=client)
    return count()


async def disturbed_forward(moves: Moves, way: Way, disturbance: Disturbance, write: int) -> None:
    """A plan that is disturbed at a write on its way forward, and then taken back."""
    plan = await begun(moves, way)
    before = await moves.state()
    async with disturbing(moves, disturbance, write) as client:
        await until_disturbed(go_forward(moves, plan, way, client))
    await require_nothing_lost(moves, f"{disturbance} at write {write} forward")
    await restored(moves, plan)
    assert await moves.state() == before, f"{disturbance} at write {write} forward"


async def disturbed_back(moves: Moves, way: Way, disturbance: Disturbance, write: int) -> None:
    """A plan that was carried out, whose first rollback is disturbed at a write."""
    plan = await begun(moves, way)
    before = await moves.state()
    await go_forward(moves, plan, way)
    async with disturbing(moves, disturbance, write) as client:
        await until_disturbed(moves.roll_back(plan, client=client))
    await require_nothing_lost(moves, f"{disturbance} at write {write} back")
    await restored(moves, plan)
    assert await moves.state() == before, f"{disturbance} at write {write} back"


def disturbing(moves: Moves, disturbance: Disturbance, write: int) -> contextlib.AbstractAsyncContextManager[Client]:
    return moves.dying(write) if disturbance == "killed" else moves.refusing(write)


async def restored(moves: Moves, plan: Plan) -> None:
    """A rollback that nothing disturbs ends clean, and says so beforehand."""
    previewed = [_told(undo) for undo in await moves.preview(plan)]
    outcomes = await moves.roll_back(plan)
    failed = [(undo.record.title, failure) for undo, failure in outcomes if failure]
    assert not failed, failed
    for told, (undo, _) in zip(previewed, outcomes, strict=True):
        assert _told(undo) == told, f"{_told(undo)}, but it was to be {told}"
        assert undo.is_undone, _told(undo)


def _told(undo: Undo) -> tuple[str, str]:
    return undo.record.title, f"{undo.verdict}: {undo.why}"


async def require_nothing_lost(moves: Moves, when: str) -> None:
    """Each training is on one side at least, and trains on one at most."""
    train_jobs = [
        {"kind": TRAIN_JOBS.kind, **train_job} for train_job in (await moves.client.list(TRAIN_JOBS, moves.namespace)).items
    ]
    for name in JOBS:
        v1 = await moves.v1(name)
        sides: Sequence[Json] = [
            *([v1] if v1 else []),
            *_converted_train_jobs(train_jobs, f"PyTorchJob {moves.namespace}/{name}"),
        ]
        assert sides, f"{when}: nothing is left of {name}"
        training = [side["kind"] for side in sides if not is_suspended(side) and not overview(side).is_finished]
        assert len(training) <= 1, f"{when}: {name} trains as {training}"


def _converted_train_jobs(train_jobs: Sequence[Json], title: str) -> list[Json]:
    return [{"apiVersion": TRAIN_JOBS.api_version, **job} for job in train_jobs if mark(job, SOURCE) == title]


async def until_disturbed(work: Awaitable[object]) -> None:
    """Returns when `work` is dead or has said that something was refused; or at its end, as a conflict more or less makes a life
    longer or shorter."""
    with contextlib.suppress(Killed, ShunterError):
        await work
