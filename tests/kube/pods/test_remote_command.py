"""How a command in a container ended, by the Status that the API server sends last."""

from __future__ import annotations

import json

import pytest

from shunter.kube.errors import ApiError, ConnectionProblem
from shunter.kube.pods.remote_command import exit_code


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
