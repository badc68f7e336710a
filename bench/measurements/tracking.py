"""What the recipes' Progress and Tracking cost a training: steps with both, and without, in turn.

Judged is the processor time that they take in the training's process, by calls and by threads: no thread can hold the interpreter
for longer than it runs. It is the same on a busy machine, where the times of steps differ by more than what is looked for.
A step keeps a processor busy outside of Python, in many short calls, as operations of torch do. The MLflow server is a real one;
the status server only takes reports.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from figures import Figure, spread
from shunter.kube.tls.certificates import new_authority

ROOT = Path(__file__).resolve().parents[2]
CALLS = 40
"""Of a step."""


def measure(settings: dict[str, Any]) -> list[Figure]:
    """The ratio of both, what the calls take, and steps while the process that talks to MLflow starts."""
    sys.path.insert(0, str(ROOT / "tests"))
    from recipes.mlflow_server import Runs, mlflow_server

    with (
        tempfile.TemporaryDirectory() as directory,
        mlflow_server(Path(directory)) as port,
        status_server(Path(directory)) as variables,
    ):
        os.environ |= {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{port}", "MLFLOW_EXPERIMENT_NAME": "bench", "RANK": "0"}
        os.environ |= variables
        figures = steps(settings)
        assert Runs(port, "bench").one.data.metrics, "nothing was sent, so nothing was measured"
    return figures


def steps(settings: dict[str, Any]) -> list[Figure]:
    step = calibrated(settings["milliseconds"] / 1000)
    number = settings["steps"]
    before = timed(step, number)
    progress, tracking = recipe("progress").Progress(), recipe("tracking").Tracking({"lr": 1})
    starting = timed(step, settings["steps_at_start"])
    ratios, calls, shares, done = [], [], [], 0
    for _ in range(settings["rounds"]):
        without = timed(step, number)
        begun, threads, called = time.perf_counter(), time.process_time() - time.thread_time(), 0.0
        for _ in range(number):
            step()
            done += 1
            before_call = time.thread_time()
            progress.report(step=done, steps=10**6, loss=1 / done)
            tracking.log(done, loss=1 / done, accuracy=0.5, lr=1e-3)
            calls.append(time.thread_time() - before_call)
            called += calls[-1]
        taken = time.perf_counter() - begun
        ratios.append(taken / without)
        threads = time.process_time() - time.thread_time() - threads
        # Calls are made once a step, threads wake by the clock.
        shares.append(100 * (called / (number * settings["milliseconds"] / 1000) + threads / taken))
    tracking.close()
    progress.close()
    note = f"{min(ratios):.3f} to {max(ratios):.3f} in {len(ratios)} rounds of {number} steps of {before / number * 1000:.0f} ms"
    return [
        Figure("of a step, both", statistics.median(shares), "%", f"{spread(shares)} in {len(ratios)} rounds"),
        Figure("both calls", statistics.median(calls) * 1e6, "us", "a step"),
        Figure("steps with both / without", statistics.median(ratios), "", note),
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

    def work() -> None:
        for _ in range(repeats):
            calls(size)

    return work


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


STATUS_SERVER = """
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass

server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def status_server(directory: Path) -> Iterator[dict[str, str]]:
    """One that takes every report, in a process of its own; the variables that tell a program of it."""
    (directory / "token").write_text("token")
    (directory / "ca.crt").write_bytes(new_authority("bench").certificate)
    with subprocess.Popen([sys.executable, "-c", STATUS_SERVER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield {
            "KUBEFLOW_TRAINER_SERVER_URL": f"http://127.0.0.1:{int(process.stdout.readline())}/status",
            "KUBEFLOW_TRAINER_SERVER_TOKEN": str(directory / "token"),
            "KUBEFLOW_TRAINER_SERVER_CA_CERT": str(directory / "ca.crt"),
        }
        process.terminate()
