"""Operators inside the test's process, whose requests a test can break, count and cut off, and whose clock it can set."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection
from datetime import UTC, datetime, timedelta

from fault_transport import FaultTransport, Killed, RecordingTransport
from shunter.kube.cache.reflector import Timing
from shunter.kube.client import Client
from shunter.kube.controllers.leader import LeaderOptions
from shunter.kube.controllers.manager import LeadershipLost, Manager
from shunter.kube.kubeconfig import Connection
from shunter.kube.transport import HttpTransport
from shunter.operator.process import COMPONENT
from shunter.operator.trainer import controllers as trainer
from shunter.operator.training import controllers as training


class Clock:
    """The time as operators see it; `offset` sets it."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.offset


class Operator:
    """The controllers of both generations; put together like the process, without its webhooks."""

    def __init__(
        self,
        connection: Connection,
        *,
        namespaces: Collection[str] = (),
        leader: LeaderOptions | None = None,
        clock: Clock | None = None,
        timing: Timing = Timing(),  # noqa: B008 -- frozen
    ) -> None:
        self.faults = FaultTransport(HttpTransport(connection, user_agent=COMPONENT))
        self.sent = RecordingTransport(self.faults)
        self.manager = Manager(
            Client(self.sent, field_manager=COMPONENT),
            component=COMPONENT,
            namespaces=namespaces,
            leader=leader,
            timing=timing,
            now=clock or Clock(),
            owns_process=False,
        )
        training.add_controllers(self.manager)
        trainer.add_controllers(self.manager)
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self.manager.run(self._stop))

    async def stop(self) -> None:
        """As by SIGTERM."""
        self._stop.set()
        await self.ended()

    async def ended(self) -> None:
        """Returns when it has ended, however."""
        assert self._task is not None
        try:
            await self._task
        except* (Killed, LeadershipLost):
            pass
        finally:
            await self.faults.close()

    @property
    def is_synced(self) -> bool:
        return self.is_running and not self.manager._why_not_synced()

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()


@contextlib.asynccontextmanager
async def kept_running(new: Callable[[], Operator]) -> AsyncIterator[list[Operator]]:
    """An operator that is started again whenever it ends, as Kubernetes does; yields all of them, the newest last."""
    operators: list[Operator] = []
    is_wanted = True

    async def keep() -> None:
        while is_wanted:
            operators.append(new())
            operators[-1].start()
            await operators[-1].ended()

    keeping = asyncio.create_task(keep())
    try:
        yield operators
    finally:
        is_wanted = False
        await operators[-1].stop()
        await keeping


async def until(condition: Callable[[], object], *, seconds: float = 20.0) -> None:
    """Waits for what no object shows, e.g. what operators sent."""
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def running(operator: Operator) -> AsyncIterator[Operator]:
    operator.start()
    try:
        yield operator
    finally:
        await operator.stop()
