"""A status server on this machine, which keeps the reports of programs that use examples/recipes/progress.py."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from shunter.operator.trainer.statusserver import report
from shunter.operator.training_progress import Progress, progress


class Server:
    """A status server that keeps what it gets, and answers with `code` when `answers` is set."""

    def __init__(self, code: int) -> None:
        self.bodies: list[bytes] = []
        self.tokens: list[str] = []
        self.answers = threading.Event()
        self.got = threading.Event()
        kept = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                kept.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                kept.tokens.append(self.headers["Authorization"])
                kept.got.set()
                kept.answers.wait()
                self.send_response(code)
                self.end_headers()

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/status"


@contextmanager
def serving(code: int = 200, *, answers: bool = True) -> Iterator[Server]:
    server = Server(code)
    if answers:
        server.answers.set()
    thread = threading.Thread(target=server.http.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.answers.set()
        server.http.shutdown()
        server.http.server_close()
        thread.join()


def environment(directory: Path, url: str, *, token: str = "secret", **more: str) -> dict[str, str]:
    """What a pod with this token has."""
    (directory / token).write_text(f"{token}\n")
    return {"KUBEFLOW_TRAINER_SERVER_URL": url, "KUBEFLOW_TRAINER_SERVER_TOKEN": str(directory / token), **more}


def last_report(server: Server) -> Progress:
    """What the operator would understand of the last report."""
    status = report.parsed(server.bodies[-1])
    assert status is not None
    assert report.is_acceptable(status)
    found = progress({"status": {"trainerStatus": status}})
    assert found is not None
    return found
