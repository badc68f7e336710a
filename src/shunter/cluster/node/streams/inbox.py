"""Bytes on their way from a connection to the tasks that want them, with a limit on how much may lie around."""

from __future__ import annotations

import asyncio
from collections import deque


class Budget:
    """How many bytes the inboxes of one connection hold. Who fills them waits for `room` before it reads on."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._has_room = asyncio.Event()
        self._has_room.set()

    def add(self, size: int) -> None:
        """Counts bytes that came (or, negative, that were taken)."""
        self._held += size
        if self._held <= self._limit:
            self._has_room.set()
        else:
            self._has_room.clear()

    async def room(self) -> None:
        """Returns once no more than the limit is held."""
        await self._has_room.wait()


class Inbox:
    """What came for one reader, in order, and then the end."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._chunks: deque[bytes] = deque()
        self._ended = False
        self._unwanted = False
        self._changed = asyncio.Event()

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes."""
        return self._ended

    def put(self, data: bytes) -> None:
        """Takes bytes in without waiting; they are dropped after `end` or `ignore`."""
        if data and not self._ended and not self._unwanted:
            self._chunks.append(data)
            self._budget.add(len(data))
            self._changed.set()

    def end(self) -> None:
        """Nothing more comes; what came can still be taken."""
        self._ended = True
        self._changed.set()

    def ignore(self) -> None:
        """Nothing more is taken: what is here and what comes is thrown away."""
        self._unwanted = True
        while self._chunks:
            self._budget.add(-len(self._chunks.popleft()))
        self._changed.set()

    async def get(self) -> bytes:
        """The next bytes; empty at the end."""
        while not self._chunks:
            if self._ended or self._unwanted:
                return b""
            self._changed.clear()
            await self._changed.wait()
        data = self._chunks.popleft()
        self._budget.add(-len(data))
        return data
