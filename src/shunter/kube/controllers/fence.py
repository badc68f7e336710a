"""Keeps a former leader from writing: leadership is checked just before a request is sent.

A process that was stopped for a while, or whose server is slow, has requests that wait: for their turn, or until the server has
time again (429). When they go on, another process may lead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shunter.kube.controllers.fair_queue import FairSemaphore
from shunter.kube.errors import ApiError, Status
from shunter.kube.transport import MAX_REQUESTS, InnerTransport, Response, Transport

MAX_FENCED = MAX_REQUESTS - 16
"""Requests in flight: fewer than the transport allows, so that they wait here, before the check, and the lease is renewed in
time. Namespaces take turns, so that a thousand pods of one job do not delay those of another."""

NOT_LEADING = "NotLeading"
"""Reason of a request that was not sent because another process leads by now."""


class NotLeading(ApiError):
    """The request was not sent: another process may lead."""

    def __init__(self) -> None:
        super().__init__(Status(reason=NOT_LEADING, message="Another process leads by now."))


class FencedTransport(InnerTransport):
    """Sends requests through `inner` while `may_write` says so; for the requests of controllers, also their reads. Streams, which
    only read, go at once."""

    def __init__(self, inner: Transport, may_write: Callable[[], bool]) -> None:
        super().__init__(inner)
        self._may_write = may_write
        self._turns = FairSemaphore(MAX_FENCED)

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        """Raises NotLeading."""
        async with self._turns.place(_namespace(path)):
            if not self._may_write():
                raise NotLeading
            return await self._inner.request(method, path, params=params, headers=headers, body=body)


def _namespace(path: str) -> str:
    """The namespace of a request's object; empty for cluster-scoped ones."""
    return path.partition("/namespaces/")[2].partition("/")[0]
