"""Metrics from a tracking server of MLflow, or its file store."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from shunter.errors import EnvironmentProblem, InputError
from shunter.migrate.moving.runs import mlflow
from shunter.migrate.moving.runs.record import Run
from shunter.migrate.moving.runs.sources import with_metrics_of

RUN_ID = "4f2a"


class TrackingServer(BaseHTTPRequestHandler):
    """Answers as MLflow 2 and 3 do, one value a page."""

    metrics: ClassVar[list[dict[str, Any]]] = [
        {"key": "loss", "value": 0.5, "timestamp": 2000, "step": 2},
        {"key": "loss", "value": 0.75, "timestamp": 1000, "step": 1},
    ]

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(asked.query).items()}
        if self.headers["Authorization"] != "Bearer secret":
            self.answer(401, {})
        elif query.get("run_id") != RUN_ID:
            self.answer(404, {"error_code": "RESOURCE_DOES_NOT_EXIST"})
        elif asked.path == "/api/2.0/mlflow/runs/get":
            self.answer(200, {"run": {"data": {"metrics": self.metrics[:1]}}})
        elif asked.path == "/api/2.0/mlflow/metrics/get-history" and query["metric_key"] == "loss":
            page = int(query.get("page_token", "0"))
            more = {"next_page_token": str(page + 1)} if page + 1 < len(self.metrics) else {}
            self.answer(200, {"metrics": [self.metrics[page]], **more})
        else:
            self.answer(500, {})

    def answer(self, status: int, body: dict[str, Any]) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *_: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[str]:
    listening = ThreadingHTTPServer(("127.0.0.1", 0), TrackingServer)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_port}"
    listening.shutdown()
    listening.server_close()


@pytest.mark.integration
def test_a_run_that_the_server_does_not_know_is_named(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "secret")
    with pytest.raises(InputError, match="has no run 'other'"):
        mlflow.series_of(server, "other")


@pytest.mark.integration
def test_a_server_that_refuses_and_one_that_is_away_are_told_apart(server: str) -> None:
    with pytest.raises(InputError, match="denies access: 401"):
        mlflow.series_of(server, RUN_ID)
    with pytest.raises(EnvironmentProblem, match="cannot be reached"):
        mlflow.series_of("http://127.0.0.1:1", RUN_ID)


def test_the_history_of_a_run_comes_from_a_file_store(tmp_path: Path) -> None:
    metrics = tmp_path / "0" / RUN_ID / "metrics"
    (metrics / "eval").mkdir(parents=True)
    (metrics / "loss").write_text("1000 0.75 1\n2000 0.5 2\n2500 0.4 2\n")
    (metrics / "eval" / "acc").write_text("3000 0.9\n")
    found = {one.name: [(point.at, point.value) for point in one.points] for one in mlflow.series_of(str(tmp_path), RUN_ID)}
    assert found == {"loss": [((1,), 0.75), ((2,), 0.4)], "eval/acc": [((0,), 0.9)]}
    with pytest.raises(InputError, match="no run 'x'"):
        mlflow.series_of(str(tmp_path), "x")
    (metrics / ".DS_Store").write_bytes(b"\0\xff")
    with pytest.raises(InputError, match="not an MLflow metric"):
        mlflow.series_of(str(tmp_path), RUN_ID)


@pytest.mark.integration
def test_the_history_of_a_run_comes_from_a_tracking_server(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "secret")
    (loss,) = with_metrics_of(Run(), f"mlflow:{server}#{RUN_ID}").series
    assert (loss.name, loss.source) == ("loss", "mlflow")
    assert [(point.at, point.value, point.time) for point in loss.points] == [((1,), 0.75, 1.0), ((2,), 0.5, 2.0)]
