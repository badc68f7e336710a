"""A cluster that lets a command wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

import pytest

from shunter.cli.output import slow_server_notice
from shunter.kube.transport import Response


class Slow:
    """Answers when it has been asked for longer than patience lasts."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        waited = asyncio.Event()
        asyncio.get_running_loop().call_later(2 * slow_server_notice.SECONDS, waited.set)
        await waited.wait()
        return Response(200, {}, b"{}")

    def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        raise AssertionError("nothing is streamed")

    async def close(self) -> None:
        return


async def test_a_server_that_is_slow_to_answer_is_named_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(slow_server_notice, "SECONDS", 0.01)
    transport = slow_server_notice.SlowServerNotice(Slow(), "https://far.example")
    for _ in range(2):
        assert (await transport.request("GET", "/api")).status == 200
    assert capsys.readouterr().err == "no answer yet from https://far.example; waiting\n"
