"""The end of tasks that are no longer wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any


async def cancelled(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Returns when all tasks have ended, cancelled where they had not; what they fail with is dropped."""
    ending = [*tasks]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
