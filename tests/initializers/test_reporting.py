"""Reports to the status server from inside a pod: never in the way of the fetch."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from shunter.initializers import reporting

pytestmark = pytest.mark.integration


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("t")
    return path


def test_a_server_that_does_not_answer_holds_up_the_fetch_once(token: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/status"
        report = reporting.reporter({"KUBEFLOW_TRAINER_SERVER_URL": url, "KUBEFLOW_TRAINER_SERVER_TOKEN": str(token)})
        for percentage in (1, 2, 3, 100):
            report(percentage, None)
        silent.settimeout(0.1)
        for _ in ("the first report", "the last"):
            silent.accept()[0].close()
        with pytest.raises(TimeoutError):
            silent.accept()
