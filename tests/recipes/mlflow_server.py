"""A real MLflow server, and a gate before it that refuses, stays silent, or lets pass."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from recipes.ranks import eventually
from shunter.cluster.free_ports import free_port


@contextmanager
def mlflow_server(directory: Path, host: str = "127.0.0.1") -> Iterator[int]:
    """Its port on an address of this machine. Its data is in SQLite, and gone with the directory."""
    port = free_port()
    argv = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--host", host, "--port", str(port)]
    argv += ["--allowed-hosts", f"{host}:*,localhost:*"]  # by itself it answers to private addresses only
    argv += ["--backend-store-uri", f"sqlite:///{directory}/runs.sqlite3", "--artifacts-destination", f"{directory}/artifacts"]
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    with open(directory / "log", "wb") as log:
        process = subprocess.Popen(argv, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        eventually(lambda: process.poll() is not None or answers(port, host), seconds=500)
        assert process.poll() is None, (directory / "log").read_text()
        yield port
    finally:
        process.terminate()
        process.wait(30)


def answers(port: int, host: str = "127.0.0.1") -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://{host}:{port}/health", timeout=5) as response:
        return bool(response.status == 200)
    return False


class Runs:
    """What the server at a port has of an experiment."""

    def __init__(self, server: int, experiment: str, host: str = "127.0.0.1") -> None:
        from mlflow.tracking import MlflowClient

        self.client = MlflowClient(f"http://{host}:{server}")
        self._experiment = experiment

    @property
    def all(self) -> list[Any]:
        experiment = self.client.get_experiment_by_name(self._experiment)
        return list(self.client.search_runs([experiment.experiment_id])) if experiment else []

    @property
    def one(self) -> Any:
        (run,) = self.all
        return run

    def curve(self, metric: str = "loss") -> list[tuple[int, float]]:
        return [(point.step, point.value) for point in self.client.get_metric_history(self.one.info.run_id, metric)]


class Gate:
    """A port that leads to a server while it is `open`. Closed, it refuses connections; `silent`, it accepts them and never
    answers. Whatever changes, connections that are there are cut."""

    def __init__(self, target: int, host: str = "127.0.0.1") -> None:
        self.port, self.host, self._target = free_port(), host, target
        self.accepted = 0
        self._listener: socket.socket | None = None
        self._connections: list[socket.socket] = []

    def open(self) -> None:
        self.close()
        self._listen(is_silent=False)

    def silent(self) -> None:
        self.close()
        self._listen(is_silent=True)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._connections.clear()

    def _listen(self, *, is_silent: bool) -> None:
        self._listener = socket.create_server((self.host, self.port))
        threading.Thread(target=self._accept, args=(self._listener, is_silent), daemon=True).start()

    def _accept(self, listener: socket.socket, is_silent: bool) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self.accepted += 1
                self._connections.append(client)
                if not is_silent:
                    server = socket.create_connection(("127.0.0.1", self._target))
                    self._connections.append(server)
                    for source, sink in ((client, server), (server, client)):
                        threading.Thread(target=_copy, args=(source, sink), daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError), closing(sink):
        while block := source.recv(65536):
            sink.sendall(block)
        sink.shutdown(socket.SHUT_WR)
