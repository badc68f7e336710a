"""Probes of kind grpc, against the server of gRPC's own library and against what is none."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.node.pod.hooks import run_hook
from shunter.cluster.node.runtime.launcher import Launcher

grpc = pytest.importorskip("grpc", reason="grpcio is not built for this Python")
pytestmark = pytest.mark.integration

LONG = "a" * 300
STATUSES = {"": 1, "ready": 1, "busy": 2, "unsure": 0, "odd": 9, LONG: 1}


def health(request: bytes, context: Any) -> bytes:
    """HealthCheckRequest in, HealthCheckResponse out, as they are on the wire."""
    name = request[2:] if len(request) < 130 else request[3:]
    status = STATUSES.get(name.decode())
    if status is None:
        context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
    return bytes([8, status]) if status else b""


def served(*handlers: Any) -> Iterator[int]:
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=handlers)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield port
    server.stop(None).wait()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    check = {"Check": grpc.unary_unary_rpc_method_handler(health)}
    yield from served(grpc.method_handlers_generic_handler("grpc.health.v1.Health", check))


@pytest.fixture
def silent() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


async def asked(port: int, service: str | None = None, timeout: float = 5.0, launcher: Launcher | None = None) -> str:
    target: dict[str, Any] = {"port": port} | ({} if service is None else {"service": service})
    launcher = launcher or Launcher(Path("log"))
    return await run_hook(launcher, Path("attempt"), {"name": "c"}, {"grpc": target}, address="127.0.0.1", timeout=timeout)


@pytest.mark.parametrize(
    ("service", "complaint"),
    [
        (None, ""),
        ("", ""),
        ("ready", ""),
        (LONG, ""),
        ("busy", 'service unhealthy (responded with "NOT_SERVING")'),
        ("unsure", 'service unhealthy (responded with "UNKNOWN")'),
        ("odd", 'service unhealthy (responded with "9")'),
    ],
)
async def test_a_service_is_healthy_when_it_says_that_it_serves(port: int, service: str | None, complaint: str) -> None:
    assert await asked(port, service) == complaint


async def test_a_service_that_the_server_does_not_know_is_not_healthy(port: int) -> None:
    assert "does not know the service" in await asked(port, "other")


async def test_a_server_without_health_is_not_healthy() -> None:
    for port in served():
        assert "or not grpc.health.v1.Health" in await asked(port)


async def test_a_server_that_says_nothing_is_given_up_in_time(silent: int) -> None:
    assert await asked(silent, timeout=0.2) == "timeout: health rpc did not complete within 0.2s"


class SlowLauncher(Launcher):
    """It connects in the last moment."""

    async def connect(self, address: str, port: int, timeout: float) -> socket.socket:
        self.began = asyncio.get_running_loop().time()
        await asyncio.sleep(0.9 * timeout)
        return await super().connect(address, port, timeout)


async def test_connecting_and_asking_have_one_deadline(silent: int) -> None:
    launcher = SlowLauncher(Path("log"))
    assert await asked(silent, timeout=3, launcher=launcher) == "timeout: health rpc did not complete within 3s"
    assert asyncio.get_running_loop().time() - launcher.began < 5


async def test_a_server_that_speaks_something_else_or_hangs_up_is_not_healthy() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert (await asked(port)).startswith("error: health rpc probe failed")
    assert (await asked(port)).startswith(f'error: failed to connect service at "127.0.0.1:{port}"')
