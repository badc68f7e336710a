"""Writes that wait for an admission webhook which does not answer yet, as while the operator is starting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from shunter.kube.errors import ApiError, ConnectionProblem

ADMISSION_SECONDS = 15.0
"""How long a webhook that does not answer yet (the operator is starting again) is waited for."""
_LOOK_SECONDS = 0.2

Answer = TypeVar("Answer")


async def once_admitted(write: Callable[[], Awaitable[Answer]], report: Callable[[str], None]) -> Answer:
    """What the write returns, once the server and its webhooks answer; `report` is called once when they do not. Raises any other
    ApiError at once, and one that may pass (`may_pass`) after ADMISSION_SECONDS."""
    deadline = asyncio.get_running_loop().time() + ADMISSION_SECONDS
    reported = False
    while True:
        try:
            return await write()
        except ApiError as error:
            if not may_pass(error) or asyncio.get_running_loop().time() > deadline:
                raise
            if not reported:
                report(f"{error.message} Trying again.")
                reported = True
            await asyncio.sleep(_LOOK_SECONDS)


def may_pass(error: ApiError) -> bool:
    """Whether the server or a webhook is away for a moment. A 500 alone does not say so: it is what a kube-apiserver answers to a
    field of a wrong name or type in an apply."""
    return isinstance(error, ConnectionProblem) or error.code in (429, 502, 503, 504) or "failed calling webhook" in error.message
