"""What probes make of the answers that they get: thresholds, and which probe waits for which.

Periods are parts of a second here; the server answers each path with its next status, and the last one from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.node.pod.probing import Health, Prober, Reports
from shunter.cluster.node.runtime.launcher import Launcher

pytestmark = pytest.mark.integration

TIMES = {"periodSeconds": 0.02, "timeoutSeconds": 10}


class Told:
    """What a prober reported, in order: Health, (kind, complaint), or the kind for which the container has to go."""

    def __init__(self) -> None:
        self.all: list[Any] = []
        self.asked: list[str] = []
        self._changed = asyncio.Event()

    def add(self, what: Any) -> None:
        self.all.append(what)
        self._changed.set()

    async def until(self, count: int) -> list[Any]:
        async with asyncio.timeout(20):
            while len(self.all) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.all[:count]


@asynccontextmanager
async def probed(answers: dict[str, list[int]], **probes: dict[str, Any]) -> AsyncIterator[Told]:
    told = Told()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode().strip("/")
        told.asked.append(path)
        left = answers[path]
        status = left.pop(0) if len(left) > 1 else left[0]
        writer.write(f"HTTP/1.1 {status} .\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        container = {
            f"{kind}Probe": {"httpGet": {"path": f"/{kind}", "port": port}, **TIMES, **probe} for kind, probe in probes.items()
        }
        reports = Reports(told.add, lambda kind, text: told.add((kind, text)), told.add, told.add)
        prober = Prober(Launcher(Path("log")), Path("attempt"), {"name": "c", **container}, "127.0.0.1", reports)
        try:
            yield told
        finally:
            prober.close()


def failed(kind: str) -> tuple[str, str]:
    return (kind, "HTTP probe failed with statuscode: 500")


READY, UNREADY = Health(started=True, ready=True), Health(started=True, ready=False)


async def test_a_container_is_ready_after_so_many_successes_and_not_after_so_many_failures() -> None:
    answers = {"readiness": [200, 500, 200, 200, 500, 200, 500, 500, 200]}
    async with probed(answers, readiness={"successThreshold": 2, "failureThreshold": 2}) as told:
        # One success, or one failure between successes, changes nothing; nor does the first success after it was lost.
        fault = failed("readiness")
        assert await told.until(6) == [fault, READY, fault, fault, fault, UNREADY]
        assert (await told.until(7))[-1] == READY


async def test_nothing_else_is_asked_before_the_container_has_started() -> None:
    answers = {"startup": [500, 500, 200], "readiness": [200], "liveness": [200]}
    async with probed(answers, startup={"failureThreshold": 3}, readiness={}, liveness={}) as told:
        assert await told.until(4) == [failed("startup"), failed("startup"), UNREADY, READY]
        assert told.asked[:3] == ["startup"] * 3
        assert "startup" not in told.asked[3:]


@pytest.mark.parametrize("kind", ["startup", "liveness"])
async def test_a_container_goes_after_so_many_failures_in_a_row(kind: str) -> None:
    answers = {kind: [500, 500, 500, 500], "readiness": [200]}
    async with probed(answers, **{kind: {"failureThreshold": 3}}) as told:
        assert await told.until(4) == [failed(kind)] * 3 + [kind]
        assert told.asked == [kind] * 3, "it is not asked again"


async def test_a_success_between_failures_counts_from_the_start() -> None:
    async with probed({"liveness": [500, 500, 200, 500, 500, 500]}, liveness={"failureThreshold": 3}) as told:
        assert await told.until(6) == [failed("liveness")] * 5 + ["liveness"]
        assert told.asked == ["liveness"] * 6


async def test_the_first_question_waits_for_its_delay() -> None:
    clock = asyncio.get_running_loop().time
    before = clock()
    async with probed({"readiness": [200]}, readiness={"initialDelaySeconds": 0.3}) as told:
        assert await told.until(1) == [READY]
    assert clock() - before >= 0.3
