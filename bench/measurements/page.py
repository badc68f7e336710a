"""`shunter ui` for a cluster full of jobs: how soon it answers, what a viewer costs, how late a change is told."""

from __future__ import annotations

import http.client
import json
import os
import signal
import statistics
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from embedded import SHUNTER, Cluster, cluster, job, until
from figures import Figure, percentile
from load import create
from measurements.jobs import JOBS, Running
from usage import processor_seconds, resident


def measure(settings: dict[str, Any]) -> list[Figure]:
    jobs = settings["jobs"]
    with cluster("--simulate") as started:
        running = Running(started, jobs)
        names = create(started, JOBS, job(), "job", jobs, clients=settings["clients"]).acknowledged
        running.wait()
        starts = []
        for _ in range(settings["starts"]):
            with page(started) as served:
                starts.append(served.seconds)
        with page(started) as served:
            at_rest = resident([served.pid])
            streams = []
            memory = [at_rest]
            for _ in range(settings["sessions"]):
                streams.append(RowStream(served, jobs))
                time.sleep(settings["settle_seconds"])
                memory.append(resident([served.pid]))
            before = processor_seconds([served.pid])
            time.sleep(settings["idle_seconds"])
            idle = (processor_seconds([served.pid]) - before) / settings["idle_seconds"]
            deleted = names[: settings["changes"]]
            watch = Deletions(started)
            before = processor_seconds([served.pid])
            for name in deleted:
                started.ask("DELETE", f"{JOBS}/{name}")
                time.sleep(settings["pause_seconds"])
            until(lambda: all(len(gone) == len(deleted) for gone in (watch.gone, *(one.gone for one in streams))), 60)
            spent = processor_seconds([served.pid]) - before
    late = [1000 * (streams[0].gone[uid] - seen) for uid, seen in watch.gone.items()]
    further = (memory[-1] - memory[1]) / (settings["sessions"] - 1)
    each = 1000 * spent / len(deleted) / len(streams)
    return [
        Figure("start until the first byte", statistics.median(starts), "s", f"median of {settings['starts']}, cluster up"),
        Figure(
            "page's share of latency, median", statistics.median(late), "ms", f"{len(deleted)} jobs deleted, beside our own watch"
        ),
        Figure("page's share of latency, p99", percentile(late, 0.99), "ms"),
        Figure("memory of the first session", memory[1] - at_rest, "MiB", f"{jobs} jobs of 2 pods; {at_rest:.0f} MiB at rest"),
        Figure("memory of each further session", further, "MiB", f"of {settings['sessions']}, each with a stream"),
        Figure("processor time a change and session", each, "ms"),
        Figure("processor, idle", 100 * idle, "%", f"{settings['sessions']} sessions look"),
    ]


class Page:
    """A page that answers."""

    def __init__(self, process: subprocess.Popen[str], state_dir: Path, begun: float) -> None:
        assert process.stdout is not None
        self.pid = process.pid
        self._state_dir = state_dir
        link = process.stdout.readline().strip()
        self.address = link.removeprefix("http://").partition("/")[0]
        urllib.request.urlopen(f"http://{self.address}/").read(1)
        self.seconds = time.perf_counter() - begun

    def cookie(self) -> str:
        """Of a new session."""
        status = subprocess.run(
            [SHUNTER, "status", "-o", "json"], env=environment(self._state_dir), capture_output=True, check=True
        )
        connection = http.client.HTTPConnection(self.address)
        connection.request("GET", "/open" + json.loads(status.stdout)["page"].partition("/open")[2])
        return str(connection.getresponse().headers["Set-Cookie"]).partition(";")[0]


def environment(state_dir: Path) -> dict[str, str]:
    return {**os.environ, "SHUNTER_STATE_DIR": str(state_dir), "KUBECONFIG": ""}


@contextmanager
def page(started: Cluster) -> Iterator[Page]:
    begun = time.perf_counter()
    process = subprocess.Popen(
        [SHUNTER, "ui", "--no-open", "--port", "0"],
        env=environment(started.state_dir),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Page(process, started.state_dir, begun)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


class RowStream:
    """A session with a stream of the list; `gone` says when the rows of jobs went, by uid. Made once all rows are there."""

    def __init__(self, served: Page, jobs: int) -> None:
        self.gone: dict[str, float] = {}
        connection = http.client.HTTPConnection(served.address, timeout=120)
        connection.request("GET", "/api/live?view=jobs", headers={"Cookie": served.cookie()})
        self._answer = connection.getresponse()
        is_complete = threading.Event()
        threading.Thread(target=self._read, args=(jobs, is_complete), daemon=True).start()
        if not is_complete.wait(60):
            raise RuntimeError(f"the page does not show {jobs} jobs")

    def _read(self, jobs: int, is_complete: threading.Event) -> None:
        name = ""
        while line := self._answer.readline():
            at = time.perf_counter()
            if line.startswith(b"event: "):
                name = line[7:].strip().decode()
            elif line.startswith(b"data: ") and name == "snapshot":
                if len(json.loads(line[6:])["rows"]["jobs"]) == jobs:
                    is_complete.set()
            elif line.startswith(b"data: ") and name == "delta":
                for uid in json.loads(line[6:]).get("jobs", {}).get("del", ()):
                    self.gone[uid] = at


class Deletions:
    """When a watch of the cluster told that jobs were deleted, by uid."""

    def __init__(self, started: Cluster) -> None:
        self.gone: dict[str, float] = {}
        self._known: set[str] = set()
        threading.Thread(target=self._read, args=(started,), daemon=True).start()
        until(lambda: bool(self._known), 30)

    def _read(self, started: Cluster) -> None:
        for event in started.events(JOBS):
            at = time.perf_counter()
            uid = event["object"]["metadata"]["uid"]
            self._known.add(uid)
            if event["type"] == "DELETED":
                self.gone[uid] = at
