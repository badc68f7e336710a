"""Metrics from TensorBoard's files, MLflow's server and files, and log files.

The event files were written by TensorFlow 2.21: one by its second API, one by its first, as PyTorch's writer does it.
"""

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
from shunter.migrate.moving.runs import mlflow, tensorboard
from shunter.migrate.moving.runs.record import Run
from shunter.migrate.moving.runs.sources import with_metrics_of

EVENTS = Path(__file__).parent / "events"
RUN_ID = "4f2a"


def test_scalars_of_both_writers_are_read_by_tag_and_step() -> None:
    found = {one.name: [(point.at, point.value) for point in one.points] for one in tensorboard.series_of(EVENTS)}
    assert found == {
        "tf2/train/loss": [((1,), 2.5), ((2,), 1.25), ((3,), None)],
        "tf1/loss/train": [((10,), 0.5), ((20,), 0.25)],
    }


def test_values_carry_the_time_at_which_they_were_written() -> None:
    first = tensorboard.series_of(EVENTS / "tf1")[0].points
    assert first[0].time is not None
    assert first[1].time is not None
    assert first[0].time <= first[1].time


def test_a_file_whose_writer_is_still_at_work_gives_what_is_complete(tmp_path: Path) -> None:
    whole = (EVENTS / "tf1/events.out.tfevents.1").read_bytes()
    (tmp_path / "events.out.tfevents.1").write_bytes(whole[:-5])
    assert [point.at for point in tensorboard.series_of(tmp_path)[0].points] == [(10,)]


@pytest.mark.parametrize(
    "content", [b"no event file at all, for sure", b"\x05" + b"\0" * 11 + b"\xff\xff\xff\xff\xff" + b"\0" * 4]
)
def test_a_file_that_is_no_event_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tfevents.1").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.tfevents\.1: not an event file"):
        tensorboard.series_of(tmp_path)


def test_a_directory_without_event_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no event file"):
        tensorboard.series_of(tmp_path)


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
def test_the_history_of_a_run_comes_from_a_tracking_server(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "secret")
    (loss,) = with_metrics_of(Run(), f"mlflow:{server}#{RUN_ID}").series
    assert (loss.name, loss.source) == ("loss", "mlflow")
    assert [(point.at, point.value, point.time) for point in loss.points] == [((1,), 0.75, 1.0), ((2,), 0.5, 2.0)]


@pytest.mark.integration
def test_a_run_that_the_server_does_not_know_is_named(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "secret")
    with pytest.raises(InputError, match="has no run 'other'"):
        mlflow.series_of(server, "other")


@pytest.mark.integration
def test_a_server_that_refuses_and_one_that_is_away_are_told_apart(server: str) -> None:
    with pytest.raises(InputError, match="refuses: 401"):
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
    with pytest.raises(InputError, match="not a metric of MLflow"):
        mlflow.series_of(str(tmp_path), RUN_ID)


def test_a_log_file_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step=1 loss=0.5\n")
    (loss,) = with_metrics_of(Run(), f"log:{tmp_path}/train.log").series
    assert (loss.rank, loss.final) == (None, 0.5)


@pytest.mark.parametrize("source", ["wandb:x", "mlflow:http://host", "tensorboard:", "log:/nowhere"])
def test_what_is_no_source_is_refused(source: str) -> None:
    with pytest.raises(InputError):
        with_metrics_of(Run(), source)
