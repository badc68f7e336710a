"""Readings that get no answer: a frozen node leaves connections open, so that what it is asked neither returns nor fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from shunter.cancelling import cancelled
from shunter.kube.client import Client
from shunter.kube.errors import ServerProblem, Status
from shunter.page.views.view import Observed, Reading

SLOW_SECONDS = 20.0
"""A reading that has no answer for so long is out of date."""
LONGEST_SECONDS = 60.0
"""After so long without an answer it has failed."""


async def answered(reading: Reading, client: Client, observed: Observed, on_slow: Callable[[str], None]) -> Any:
    """The result of the reading. Calls `on_slow` with the reason once it is out of date. ServerProblem after LONGEST_SECONDS."""
    making = asyncio.ensure_future(reading.read(client, observed))
    try:
        done, _ = await asyncio.wait({making}, timeout=SLOW_SECONDS)
        if not done:
            on_slow(f"{reading.name}: {reading.no_answer}")
            done, _ = await asyncio.wait({making}, timeout=LONGEST_SECONDS - SLOW_SECONDS)
        if not done:
            raise ServerProblem(Status(code=504, message=reading.no_answer))
        return making.result()
    finally:
        await cancelled([making])
