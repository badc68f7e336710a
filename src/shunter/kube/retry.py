"""When a request is sent again.

A busy server (429, or a failure with Retry-After) did nothing, so any request may be sent again. After a failure of the server or
of the connection a write may have been carried out, so only reads are; a writer reads again and decides again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from shunter.kube.errors import ApiError, ConnectionProblem, ServerProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a request is sent at most, and after how many seconds again; waits double and vary by half of themselves."""

    attempts: int = 5
    first_wait: float = 0.1
    longest_wait: float = 30.0

    def wait(self, attempt: int, error: ApiError) -> float:
        """Seconds to wait after attempt number `attempt` (from 1)."""
        wait = self.first_wait * 2.0 ** (attempt - 1) * random.uniform(0.5, 1.5)
        return max(min(wait, self.longest_wait), requested_wait(error))


DEFAULT = RetryPolicy()
LONGEST_REQUESTED_WAIT = 60.0
"""Seconds. A proxy that asks for a day would stop an operator for a day, without a word."""


def requested_wait(error: ApiError) -> float:
    """The least seconds to wait by the server's Retry-After, of a minute at most; 0 where it asks for none."""
    return min(error.retry_after or 0.0, LONGEST_REQUESTED_WAIT)


def may_retry(method: str, error: ApiError) -> bool:
    """Whether sending the same request again is safe and may help."""
    if error.code == 429 or (error.code >= 500 and error.retry_after is not None):
        return True
    return method == "GET" and isinstance(error, ServerProblem | ConnectionProblem)
