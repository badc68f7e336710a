"""An embedded cluster for one measurement, used as a user uses it: started by `shunter up`, spoken to over HTTPS."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

SHUNTER = str(Path(sys.executable).parent / "shunter")
_QUIET: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
OBJECTS = Path(__file__).parent / "objects.yaml"


class Cluster:
    """A cluster that is up, in a state directory of its own."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        config = json.loads((state_dir / "kubeconfig").read_bytes())
        self.server: str = config["clusters"][0]["cluster"]["server"]
        self.token: str = config["users"][0]["user"]["token"]

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.server.removeprefix("https://").rpartition(":")
        return host, int(port)

    @cached_property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.state_dir / "pki" / "ca.crt"))

    def processes(self) -> dict[str, int]:
        """Name -> pid of everything that the cluster consists of."""
        record = json.loads((self.state_dir / "cluster.json").read_bytes())
        return {"supervisor": record["supervisor"], **record["children"]}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer; RuntimeError for a refusal, OSError when nobody answers."""
        connection = http.client.HTTPSConnection(*self.address, context=self.tls, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {answer[:300]!r}")
        return json.loads(answer) if answer.startswith(b"{") else answer.decode()

    def changes(self, path: str) -> Iterator[Any]:
        """The objects of a collection, and then each of their changes as it comes: waiting costs the cluster nothing."""
        return (event["object"] for event in self.events(path))

    def events(self, path: str) -> Iterator[Any]:
        """The events of a watch, each with its type."""
        connection = http.client.HTTPSConnection(*self.address, context=self.tls, timeout=120)
        separator = "&" if "?" in path else "?"
        connection.request("GET", f"{path}{separator}watch=true", headers={"Authorization": f"Bearer {self.token}"})
        with closing(connection), connection.getresponse() as response:
            while line := response.readline():
                yield json.loads(line)

    def names(self, path: str) -> set[str]:
        """The names of all objects of a collection, read page by page."""
        found: set[str] = set()
        page = ""
        while True:
            answer = self.ask("GET", f"{path}?limit=2000&continue={page}")
            found.update(item["metadata"]["name"] for item in answer["items"])
            page = answer["metadata"].get("continue", "")
            if not page:
                return found


@contextmanager
def cluster(*flags: str) -> Iterator[Cluster]:
    """A fresh cluster, and nothing left of it afterwards."""
    with tempfile.TemporaryDirectory(prefix="shunter-bench-") as folder:
        state_dir = Path(folder)
        up(state_dir, *flags)
        try:
            yield Cluster(state_dir)
        finally:
            down(state_dir)


def up(state_dir: Path, *flags: str) -> float:
    """Starts a cluster; the seconds until `shunter up` said that it is ready."""
    started = time.perf_counter()
    subprocess.run([SHUNTER, "up", "--state-dir", str(state_dir), *flags], check=True, **_QUIET)
    return time.perf_counter() - started


def down(state_dir: Path) -> None:
    subprocess.run([SHUNTER, "down", "--state-dir", str(state_dir)], check=True, **_QUIET)


def objects() -> Any:
    """The objects that loads are made of, by their name in objects.yaml."""
    return yaml.safe_load(OBJECTS.read_text())


def job(name: str = "NAME", program: str = "pass") -> Any:
    """The PyTorchJob of objects.yaml, whose ranks run this Python program."""
    text = json.dumps(objects()["job"]).replace('"NAME"', json.dumps(name)).replace('"COMMAND"', json.dumps(program))
    return json.loads(text)


def true_conditions(found: Any) -> set[str]:
    """The types of an object's conditions that are true."""
    conditions = found.get("status", {}).get("conditions") or []
    return {condition["type"] for condition in conditions if condition["status"] == "True"}


def until(holds: Callable[[], bool], seconds: float) -> None:
    """Returns when the condition holds. TimeoutError when it does not come true in time; errors of asking count as not yet."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if holds():
                return
        except (OSError, RuntimeError, http.client.HTTPException):
            pass
        time.sleep(0.02)
    raise TimeoutError(f"not within {seconds:.0f} s")
