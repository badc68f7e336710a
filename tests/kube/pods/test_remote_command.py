"""Commands in containers over a WebSocket, and how they ended, by the Status that the API server sends last."""

from __future__ import annotations

import json
import os

import pytest
from aiohttp import web

from kube.aiohttp_server import aiohttp_server
from shunter.kube.errors import ApiError, ConnectionProblem
from shunter.kube.pods.remote_command import CLOSE, ERROR, PIECE, PROTOCOL, STDERR, STDIN, STDOUT, Commands, exit_code


def ended(code: str) -> bytes:
    cause = {"reason": "ExitCode", "message": code}
    return json.dumps({"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": [cause]}}).encode()


def test_the_exit_code_is_the_command_s_own() -> None:
    assert exit_code(b'{"status":"Success"}') == 0
    assert exit_code(ended("7")) == 7


def test_a_command_that_could_not_be_run_is_an_error_with_the_node_s_words() -> None:
    with pytest.raises(ApiError, match="executable file not found"):
        exit_code(b'{"status":"Failure","reason":"InternalError","message":"executable file not found in $PATH"}')


def test_a_connection_that_ended_first_is_told_apart() -> None:
    with pytest.raises(ConnectionProblem):
        exit_code(b"")


@pytest.mark.integration
async def test_command_gets_its_input_and_its_outputs_come_back_apart() -> None:
    asked: list[str] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.raw_path)
        socket = web.WebSocketResponse(protocols=(PROTOCOL,), max_msg_size=0)
        await socket.prepare(request)
        typed = b""
        while (message := await socket.receive_bytes()) != bytes([CLOSE, STDIN]):
            assert message[0] == STDIN
            typed += message[1:]
        await socket.send_bytes(bytes([STDERR]) + b"trouble")
        for start in (0, PIECE):
            await socket.send_bytes(bytes([STDOUT]) + typed[start : start + PIECE])
        await socket.send_bytes(bytes([ERROR]) + ended("3"))
        await socket.close()
        return socket

    stdin = os.urandom(2 * PIECE)
    async with aiohttp_server(handle) as connection:
        done = await Commands(connection).run("p", "n", "c", ["cat", "a b"], stdin=stdin, seconds=20.0)
    assert done == (3, stdin, b"trouble")
    query = "container=c&stdout=true&stderr=true&command=cat&command=a+b&stdin=true"
    assert asked == [f"/prefix/api/v1/namespaces/n/pods/p/exec?{query}"]


@pytest.mark.integration
async def test_command_that_does_not_end_in_time_is_a_timeout() -> None:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=(PROTOCOL,))
        await socket.prepare(request)
        await socket.receive()
        return socket

    async with aiohttp_server(handle) as connection:
        with pytest.raises(TimeoutError):
            await Commands(connection).run("p", "n", "c", ["sleep"], seconds=0.3)
