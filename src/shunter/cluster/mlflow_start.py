"""Starts the MLflow server of an embedded cluster that runs."""

from __future__ import annotations

import os
import signal
import ssl
import time

import msgspec

from shunter.cluster import mlflow_server
from shunter.cluster.lifecycle import alone, answers, every, mark_log, not_ready
from shunter.cluster.state_dir import Record, StateDir, write_private
from shunter.errors import EnvironmentProblem

READY_SECONDS = 240.0
"""Its import alone takes ten seconds of a processor's time, and the first start makes a database."""
MOST_RESTARTS = 3


def port(state: StateDir) -> int:
    """Where the cluster's server is, or would be. EnvironmentProblem when the cluster cannot have one."""
    return _record(state).mlflow


def start(state: StateDir) -> None:
    """Returns when the server answers; it is started unless it runs. EnvironmentProblem when mlflow is not installed, and
    when the server does not come up."""
    if not mlflow_server.is_installed():
        raise not_installed()
    with alone(state):
        record = _record(state)
        launch = msgspec.json.decode(state.launch.read_bytes())
        if mlflow_server.CHILD not in [child["name"] for child in launch["children"]]:
            with state.explained():
                state.mlflow.mkdir(mode=0o700, exist_ok=True)
                mark_log(state, mlflow_server.CHILD)
                launch["children"].insert(0, mlflow_server.child(state, record.mlflow))
                write_private(state.launch, msgspec.json.encode(launch))
        # Also if it stands there already: the process that wrote it may have been killed before this.
        os.kill(record.supervisor, signal.SIGUSR1)
    context = ssl.create_default_context()
    before = record.restarts.get(mlflow_server.CHILD, 0)
    for _ in every(0.1, time.monotonic() + READY_SECONDS):
        if answers(f"http://{mlflow_server.HOST}:{record.mlflow}/health", context, ""):
            return
        if _record(state).restarts.get(mlflow_server.CHILD, 0) - before >= MOST_RESTARTS:
            raise not_ready(state, mlflow_server.CHILD, "ends at once")
    raise not_ready(state, mlflow_server.CHILD, f"did not become ready within {READY_SECONDS:.0f} s")


def not_installed() -> EnvironmentProblem:
    """The error to raise, with how to install it and what else can be done."""
    return EnvironmentProblem(
        "--mlflow local needs the package mlflow, which is not installed in the environment of shunter.",
        "Install it there: pip install mlflow. Or name a server that runs: --mlflow http://HOST:PORT",
    )


def _record(state: StateDir) -> Record:
    record = state.read_record()
    if record is None:
        raise EnvironmentProblem(f"the cluster in {state.root} is not up.", "Start it with: shunter up")
    if not record.mlflow:
        raise EnvironmentProblem(
            f"the cluster in {state.root} was started by a version of shunter without MLflow support.",
            "Restart it: shunter down; shunter up",
        )
    return record
