"""A queue in which groups (namespaces) take turns, and the items of a group are in order."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items that wait, by group. Every operation takes the same time however many wait."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[T]] = {}
        self._turns: OrderedDict[str, None] = OrderedDict()
        """Groups that have items and are not held; the first is next."""
        self._held: set[str] = set()
        self._count = 0

    def __len__(self) -> int:
        """How many items wait, those of held groups included."""
        return self._count

    @property
    def has_next(self) -> bool:
        """Whether `take` has something to give."""
        return bool(self._turns)

    def add(self, group: str, item: T) -> None:
        """Puts the item behind all others of its group; a group that had none waits for all other groups once."""
        self._waiting.setdefault(group, deque()).append(item)
        self._count += 1
        if group not in self._held:
            self._turns.setdefault(group)

    def take(self) -> tuple[str, T]:
        """The next item and its group. StopIteration where `has_next` is false."""
        group = next(iter(self._turns))
        items = self._waiting[group]
        item = items.popleft()
        self._count -= 1
        if items:
            self._turns.move_to_end(group)
        else:
            del self._waiting[group], self._turns[group]
        return group, item

    def hold(self, group: str) -> None:
        """Gives the group no turn until `release`."""
        self._held.add(group)
        self._turns.pop(group, None)

    def release(self, group: str) -> None:
        """Gives the group turns again, the first after those of all others."""
        self._held.discard(group)
        if group in self._waiting:
            self._turns.setdefault(group)


class FairSemaphore:
    """A semaphore whose waiters are served in the order of a FairQueue."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    @asynccontextmanager
    async def place(self, group: str) -> AsyncIterator[None]:
        """Holds a place within the block."""
        await self._acquire(group)
        try:
            yield
        finally:
            self._pass_on()

    async def _acquire(self, group: str) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(group, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._waiting.has_next:
            _, turn = self._waiting.take()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
