"""kill -9 of API server, operator, agent and supervisor again and again, under load, and whether the history holds.

    .venv/bin/python bench/kills.py [--kills 200] [--seed 1]

The seed decides the victims and the moments. Clients create, update and delete ConfigMaps, one watches them, jobs of one rank
run; after the last kill the history is checked: nothing that was acknowledged is lost, no resourceVersion is of two writes, a
watch that was taken up again left out nothing (or was refused with 410), no rank ran twice. Exits 1 and says what is wrong.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from embedded import Cluster, down, true_conditions, until, up

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
PODS = "/api/v1/namespaces/default/pods"
VICTIMS = ("apiserver", "operator", "agent", "supervisor")
WRITERS = 3
KEYS = 8
GONE = 410
AWAY = (OSError, RuntimeError, http.client.HTTPException, ValueError)
"""What a request may end with while the server is away: its outcome is not known then."""
RANK = """
exec 9>>/marks/$POD.lock
flock -n 9 || echo "$POD runs beside itself" >> /marks/twice
echo $POD >> /marks/starts
sleep 0.2
"""


class Write(NamedTuple):
    """An acknowledged write."""

    name: str
    revision: int
    text: str | None
    """None for a deletion."""


class Writer(threading.Thread):
    """Writes ConfigMaps of its own. `possible` are the states that an object may have, one unless an answer was lost."""

    def __init__(self, started: Cluster, number: int, seed: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._cluster, self._asked_to_stop = started, stop
        self._random = random.Random(f"{seed}-{number}")
        self._names = [f"map-{number}-{key}" for key in range(KEYS)]
        self.possible: dict[str, set[str | None]] = {name: {None} for name in self._names}
        self._revisions: dict[str, int] = {}
        """Of the state that was acknowledged or looked at last."""
        self.asked_deletions = Counter[str]()
        self.writes: list[Write] = []
        self.wrong: list[str] = []

    def run(self) -> None:
        count = 0
        while not self._asked_to_stop.is_set():
            name = self._random.choice(self._names)
            if len(self.possible[name]) > 1 and not self.look(name):
                time.sleep(0.02)
                continue
            (now,) = self.possible[name]
            count += 1
            wanted = None if now is not None and self._random.random() < 0.3 else f"{name} {count}"
            self.possible[name] = {now, wanted}
            try:
                revision = self._write(name, now, wanted)
            except AWAY:
                time.sleep(0.02)
                continue
            self.possible[name] = {wanted}
            self._revisions[name] = revision
            self.writes.append(Write(name, revision, wanted))

    def _write(self, name: str, now: str | None, wanted: str | None) -> int:
        if wanted is None:
            self.asked_deletions[name] += 1
            self._cluster.ask("DELETE", f"{CONFIG_MAPS}/{name}")
            return 0
        metadata = {"name": name}
        method, path = ("POST", CONFIG_MAPS) if now is None else ("PUT", f"{CONFIG_MAPS}/{name}")
        if now is not None:
            # What was acknowledged last: were it lost, this write would hide that, and so is refused and looked into.
            metadata["resourceVersion"] = str(self._revisions[name])
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": wanted}}
        return int(self._cluster.ask(method, path, body)["metadata"]["resourceVersion"])

    def look(self, name: str) -> bool:
        """Whether the server said what an object is; notes a state that it cannot have."""
        try:
            there = self._cluster.ask("GET", f"{CONFIG_MAPS}/{name}")
            found, self._revisions[name] = there["data"]["text"], int(there["metadata"]["resourceVersion"])
        except AWAY as error:
            if ": 404 " not in str(error):
                return False
            found = None
        if found not in self.possible[name]:
            self.wrong.append(f"{name} is {found!r}, and was acknowledged to be one of {self.possible[name]}")
        self.possible[name] = {found}
        return True


class Watcher(threading.Thread):
    """Watches ConfigMaps, from where it was each time it is cut off. `spans` are what it saw without a list in between."""

    def __init__(self, started: Cluster, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._cluster, self._asked_to_stop = started, stop
        self.spans: list[list[int]] = []
        self.refused = 0
        self.deletions: list[tuple[str, int]] = []
        """Name and revision."""
        self.wrong: list[str] = []

    def run(self) -> None:
        while not self._asked_to_stop.is_set():
            try:
                if not self.spans or self.spans[-1] == []:
                    revision = int(self._cluster.ask("GET", f"{CONFIG_MAPS}?limit=1")["metadata"]["resourceVersion"])
                    self.spans[len(self.spans) - 1 if self.spans else 0 :] = [[revision]]
                span = self.spans[-1]
                self.take(self._cluster.events(f"{CONFIG_MAPS}?resourceVersion={span[-1]}"), span)
            except AWAY:
                time.sleep(0.02)

    def take(self, events: Iterable[Any], span: list[int]) -> None:
        """Until there are no more, or the server refuses to go on."""
        for event in events:
            found = event["object"]
            if event["type"] == "ERROR":
                # The past that it asks for is gone; anything else is no answer to a watch.
                if found["code"] == GONE:
                    self.refused += 1
                else:
                    self.wrong.append(f"a watch from {span[-1]} was refused: {found['code']} {found['message']}")
                self.spans.append([])
                return
            revision = int(found["metadata"]["resourceVersion"])
            if revision <= span[-1]:
                self.wrong.append(f"a watch from {span[-1]} showed {revision}")
            span.append(revision)
            if event["type"] == "DELETED":
                self.deletions.append((found["metadata"]["name"], revision))
            if self._asked_to_stop.is_set():
                return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shunter-kills-") as folder:
        wrong, said = run(Path(folder), arguments.seed, arguments.kills)
    print(said)
    for line in wrong:
        print(f"WRONG: {line}")
    return 1 if wrong else 0


def run(folder: Path, seed: int, kills: int) -> tuple[list[str], str]:
    """What is wrong with the history, and what it held."""
    state, marks = folder / "state", folder / "marks"
    marks.mkdir()
    up(state)
    try:
        started, stop = Cluster(state), threading.Event()
        writers = [Writer(started, number, seed, stop) for number in range(WRITERS)]
        watcher = Watcher(started, stop)
        for thread in (watcher, *writers):
            thread.start()
        killed = Counter[str]()
        chosen = random.Random(seed)
        names = []
        for number in range(kills):
            names += [job(started, f"job-{number}", marks)]
            time.sleep(chosen.uniform(0, 0.5))
            victim = chosen.choice(VICTIMS)
            kill(started, state, victim)
            killed[victim] += 1
            print(f"{number + 1} {victim}", file=sys.stderr, flush=True)
        stop.set()
        until(lambda: started.ask("GET", "/readyz") == "ok", seconds=60)
        # The last change lets the watch end, too.
        started.ask("POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "last"}})
        for thread in (watcher, *writers):
            thread.join(timeout=60)
        until(lambda: not unfinished(started), seconds=120)
        at_the_end(writers)
        wrong = [*watcher.wrong, *(line for writer in writers for line in writer.wrong)]
        writes = [write for writer in writers for write in writer.writes]
        wrong += [*reused(writes), *gaps(writes, watcher.spans), *unasked(writers, watcher.deletions), *twice(marks, names)]
        victims = ", ".join(f"{name} {count}" for name, count in sorted(killed.items()))
        said = f"seed {seed}: {kills} kills ({victims}); {len(writes)} acknowledged writes, {len(watcher.spans)} watches"
        return wrong, f"{said} of which {watcher.refused} ended in 410, {len(names)} jobs of one rank"
    finally:
        down(state)


def kill(started: Cluster, state: Path, victim: str) -> None:
    """Returns when another process has taken the place of the killed one and the server answers."""
    before = started.processes()[victim]
    os.kill(before, signal.SIGKILL)
    if victim == "supervisor":
        up(state)
    else:
        until(lambda: started.processes().get(victim, before) != before, seconds=60)
    until(lambda: started.ask("GET", "/readyz") == "ok", seconds=60)


def job(started: Cluster, name: str, marks: Path) -> str:
    """Submits a job of one rank, as often as it takes."""
    container = {
        "name": "pytorch",
        "image": "any",
        "command": ["sh", "-c", RANK],
        "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "volumeMounts": [{"name": "marks", "mountPath": "/marks"}],
    }
    spec = {"containers": [container], "volumes": [{"name": "marks", "hostPath": {"path": str(marks)}}]}
    master = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": spec}}
    body = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}}

    def submitted() -> bool:
        try:
            started.ask("POST", JOBS, body | {"spec": {"pytorchReplicaSpecs": {"Master": master}}})
        except RuntimeError as error:
            return ": 409 " in str(error)
        return True

    until(submitted, seconds=60)
    return name


def unfinished(started: Cluster) -> list[str]:
    """Jobs and pods that have not ended."""
    jobs = [one for one in started.ask("GET", JOBS)["items"] if not {"Succeeded", "Failed"} & true_conditions(one)]
    pods = [one for one in started.ask("GET", PODS)["items"] if one["status"]["phase"] not in ("Succeeded", "Failed")]
    return [one["metadata"]["name"] for one in (*jobs, *pods)]


def at_the_end(writers: list[Writer]) -> None:
    """Has every object looked at once more; what is not as it was acknowledged is noted by its writer."""
    for writer in writers:
        for name in writer.possible:
            until(lambda writer=writer, name=name: writer.look(name), seconds=30)  # type: ignore[misc]


def reused(writes: list[Write]) -> list[str]:
    """resourceVersions that more than one write got."""
    counts = Counter(write.revision for write in writes if write.revision)
    return [f"resourceVersion {revision} was given {count} times" for revision, count in counts.items() if count > 1]


def gaps(writes: list[Write], spans: list[list[int]]) -> list[str]:
    """Acknowledged writes that a watch passed by."""
    missing = []
    for span in spans:
        seen = set(span)
        missing += [
            f"the watch from {span[0]} to {span[-1]} did not show {write.name} at {write.revision}"
            for write in writes
            if span and span[0] < write.revision < span[-1] and write.revision not in seen
        ]
    return missing


def unasked(writers: list[Writer], deletions: list[tuple[str, int]]) -> list[str]:
    """Deletions that a watch showed more often than anybody asked for them."""
    asked = sum((writer.asked_deletions for writer in writers), Counter[str]())
    shown = Counter(name for name, _ in deletions)
    return [
        f"{name} was shown as deleted {count} times and asked to be {asked[name]} times"
        for name, count in shown.items()
        if count > asked[name]
    ]


def twice(marks: Path, names: list[str]) -> list[str]:
    """Ranks that ran beside themselves, or again though they had run to their end, or never."""
    beside = (marks / "twice").read_text().splitlines() if (marks / "twice").exists() else []
    starts = Counter((marks / "starts").read_text().split())
    again = [f"{name} was started {count} times" for name, count in starts.items() if count > 1]
    never = [f"{name} never ran" for name in names if f"{name}-master-0" not in starts]
    return [*beside, *again, *never]


if __name__ == "__main__":
    sys.exit(main())
