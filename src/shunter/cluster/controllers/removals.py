"""Removals that take longer than one reconcile: a task for each object that goes, tried until it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Removals:
    """The tasks by the key of what they remove."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._tasks

    def start(self, key: str, removal: Coroutine[Any, Any, None], name: str) -> None:
        """For a key that is not being removed yet."""
        task = asyncio.create_task(removal, name=name)
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def run(self) -> None:
        """Waits to be cancelled, and then ends all removals."""
        try:
            await asyncio.Event().wait()
        finally:
            for task in [*self._tasks.values()]:
                task.cancel()
