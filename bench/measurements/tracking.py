"""What the recipes' Progress and Tracking cost a training: steps with both, and without, in turn.

A step keeps a processor busy outside of Python, in many short calls, as operations of torch do. The MLflow server is a real one;
the status server only takes reports.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from figures import Figure

ROOT = Path(__file__).resolve().parents[2]
CALLS = 40
"""Of a step."""


def measure(settings: dict[str, Any]) -> list[Figure]:
    """The ratio of both, what the calls take, and steps while the process that talks to MLflow starts."""
    sys.path.insert(0, str(ROOT / "tests"))
    from recipes.mlflow_server import Runs, mlflow_server

    with tempfile.TemporaryDirectory() as directory, mlflow_server(Path(directory)) as port:
        os.environ |= {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{port}", "MLFLOW_EXPERIMENT_NAME": "bench", "RANK": "0"}
        os.environ |= status_server(Path(directory))
        figures = steps(settings)
        assert Runs(port, "bench").one.info.status == "FINISHED", "nothing was sent, so nothing was measured"
    return figures


def steps(settings: dict[str, Any]) -> list[Figure]:
    step = calibrated(settings["milliseconds"] / 1000)
    number = settings["steps"]
    before = timed(step, number)
    progress, tracking = recipe("progress").Progress(), recipe("tracking").Tracking({"lr": 1})
    starting = timed(step, settings["steps_at_start"])
    ratios, calls, done = [], [], 0
    for _ in range(settings["rounds"]):
        without = timed(step, number)
        begun = time.perf_counter()
        for _ in range(number):
            step()
            done += 1
            called = time.perf_counter()
            progress.report(step=done, steps=10**6, loss=1 / done)
            tracking.log(done, loss=1 / done, accuracy=0.5, lr=1e-3)
            calls.append(time.perf_counter() - called)
        ratios.append((time.perf_counter() - begun) / without)
    tracking.close()
    progress.close()
    spread = (
        f"{min(ratios):.3f} to {max(ratios):.3f} in {len(ratios)} rounds of {number} steps of {before / number * 1000:.0f} ms"
    )
    return [
        Figure("steps with both / without", statistics.median(ratios), "", spread),
        Figure("both calls", statistics.median(calls) * 1e6, "us", "a step"),
        Figure(
            "steps while mlflow is imported / before",
            starting / settings["steps_at_start"] / (before / number),
            "",
            f"the first {settings['steps_at_start']}; by a process of its own",
        ),
    ]


def calibrated(seconds: float) -> Callable[[], None]:
    """Something that takes so long."""
    block = bytes(2**20)

    def calls(size: int) -> None:
        view = memoryview(block)[:size]
        for _ in range(CALLS):
            hashlib.sha256(view)

    fastest = min(timed(lambda: calls(2**20), 1) for _ in range(20))
    size = min(2**20, int(2**20 * seconds / fastest))
    repeats = max(1, round(seconds / fastest))
    return lambda: [calls(size) for _ in range(repeats)][-1]


def timed(step: Callable[[], None], number: int) -> float:
    begun = time.perf_counter()
    for _ in range(number):
        step()
    return time.perf_counter() - begun


def recipe(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples/recipes" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def status_server(directory: Path) -> dict[str, str]:
    """Starts one that takes every report; the variables that tell a program of it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (directory / "token").write_text("token")
    url = f"http://127.0.0.1:{server.server_port}/status"
    return {"KUBEFLOW_TRAINER_SERVER_URL": url, "KUBEFLOW_TRAINER_SERVER_TOKEN": str(directory / "token")}
