"""The newest status reaches the server, whenever it comes."""

from __future__ import annotations

import asyncio
from typing import Any

from shunter.api.meta import Json, ObjectMeta
from shunter.cluster.node.assigned_pod import AssignedPod
from shunter.cluster.node.status_writer import StatusWriter
from shunter.kube.client import Client
from shunter.kube.transport import Response


class WritingAgain:
    """A transport that has the next status written while it answers the last."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.then: list[Any] = []

    async def request(self, method: str, path: str, *, params: Any = (), headers: Any = (), body: bytes = b"") -> Response:
        self.bodies.append(body)
        if self.then:
            asyncio.get_running_loop().call_soon(self.then.pop(0))
        return Response(200, {}, b"{}")

    async def close(self) -> None:
        return


async def test_a_status_that_comes_while_the_writer_ends_is_not_lost() -> None:
    pod = AssignedPod(metadata=ObjectMeta(name="p", namespace="n", uid="u"), spec={}, status={})
    transport = WritingAgain()
    writer = StatusWriter(Client(transport))  # type: ignore[arg-type]
    last: Json = {"phase": "Succeeded"}
    transport.then.append(lambda: writer.write(pod, last))
    writer.write(pod, {"phase": "Running"})
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await writer.flush("u")
    assert [b"Running" in transport.bodies[0], b"Succeeded" in transport.bodies[-1]] == [True, True]
