"""examples/recipes/progress.py: what it reports, and that no server can be in the way of a training."""

from __future__ import annotations

import importlib.util
import json
import math
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from recipes.status_server import environment, serving
from shunter.operator.trainer.statusserver import report
from shunter.operator.training_progress import progress as read

pytestmark = [pytest.mark.timeout(60), pytest.mark.integration]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("progress", Path(__file__).parents[2] / "examples" / "recipes" / "progress.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_the_last_report_arrives_and_is_understood(module: Any, tmp_path: Path) -> None:
    with serving() as server:
        progress = module.Progress(environment(tmp_path, server.url))
        for step in range(1, 121):
            progress.report(step=step, steps=300, loss=151.26 - step, accuracy=0.5)
        progress.checkpoint(100, seconds=1.234, every=50)
        progress.close()
    status = report.parsed(server.bodies[-1])
    assert status is not None
    assert report.is_acceptable(status)
    assert status["progressPercentage"] == 40
    assert "estimatedRemainingSeconds" in status
    assert {"name": "accuracy", "value": "0.5"} in status["metrics"]
    found = read({"status": {"trainerStatus": status}})
    assert found is not None
    assert found.checkpoint is not None
    assert (found.step, found.steps, found.loss) == (120, 300, 31.26)
    assert (found.checkpoint.step, found.checkpoint.seconds, found.checkpoint.every) == (100, 1.23, 50)
    assert found.checkpoint.saved is not None
    assert server.tokens[-1] == "Bearer secret"
    assert len(server.bodies) <= 3, "every step was sent"


def test_a_note_goes_along_with_every_report(module: Any, tmp_path: Path) -> None:
    with serving() as server:
        progress = module.Progress(environment(tmp_path, server.url))
        progress.note("mlflow.run", "c0ffee" * 5)
        progress.report(step=1)
        progress.close()
    status = report.parsed(server.bodies[-1])
    assert status is not None
    assert report.is_acceptable(status)
    assert status["metrics"] == [{"name": "step", "value": "1"}, {"name": "mlflow.run", "value": "c0ffee" * 5}]


def test_a_loss_that_is_no_number_any_more_is_reported(module: Any, tmp_path: Path) -> None:
    with serving() as server:
        progress = module.Progress(environment(tmp_path, server.url))
        progress.report(step=1, loss=math.nan)
        progress.close()
    assert {"name": "loss", "value": "nan"} in json.loads(server.bodies[-1])["trainerStatus"]["metrics"]


def test_a_server_that_never_answers_is_not_waited_for(module: Any, tmp_path: Path) -> None:
    module.TIMEOUT = 0.2
    with serving(answers=False) as server:
        progress = module.Progress(environment(tmp_path, server.url))
        progress.report(step=1)
        assert server.got.wait(30)
        for step in range(2, 1000):
            progress.report(step=step)
        progress.close()
    assert len(server.bodies) == 1


@pytest.mark.parametrize("code", [401, 422, 429, 500])
def test_a_server_that_refuses_is_left_alone_for_a_while(module: Any, tmp_path: Path, code: int) -> None:
    module.PERIOD = 0.0
    with serving(code) as server:
        progress = module.Progress(environment(tmp_path, server.url))
        progress.report(step=1)
        assert server.got.wait(30)
        progress.report(step=2)
        progress.close()
    assert len(server.bodies) == 1


def test_nobody_listens(module: Any, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/status"
    progress = module.Progress(environment(tmp_path, url))
    progress.report(step=1, loss="no number")
    progress.close()


@pytest.mark.parametrize("rank", ["1", "7"])
def test_rank_0_alone_reports(module: Any, tmp_path: Path, rank: str) -> None:
    with serving() as server:
        progress = module.Progress(environment(tmp_path, server.url, RANK=rank))
        progress.report(step=1)
        progress.close()
    assert server.bodies == []


def test_without_a_server_nothing_is_done(module: Any) -> None:
    progress = module.Progress({})
    progress.report(step=1, loss=0.5)
    progress.checkpoint(1, seconds=1)
    progress.close()
    assert "progress" not in {thread.name for thread in threading.enumerate()}


def test_a_tensor_is_read_without_its_graph(module: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    weight = torch.tensor(2.0, requires_grad=True)
    with serving() as server:
        progress = module.Progress(environment(tmp_path, server.url))
        progress.report(step=1, loss=weight * 3)
        progress.close()
    assert {"name": "loss", "value": "6"} in json.loads(server.bodies[-1])["trainerStatus"]["metrics"]
    assert not any(getattr(value, "requires_grad", False) for value in progress._metrics.values())
