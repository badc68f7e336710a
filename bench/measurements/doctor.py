"""`shunter doctor` over a large job, and over one whose ranks are entered for their stacks while the machine is busy."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from embedded import SHUNTER, Cluster, cluster, job
from figures import Figure, spread
from hung_job import hang, straggling
from shunter.doctor import recording
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence

JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
CORPUS = Path(__file__).resolve().parents[2] / "tests" / "doctor" / "corpus"
STEPS = "import time\nfor step in range(100000):\n    print(f'step {step} loss 0.5', flush=True)\n    time.sleep(0.5)"
BUSY = [sys.executable, "-c", "while True: pass"]
SAMPLE = 0.5
PATIENCE_SECONDS = 120.0


def measure(settings: dict[str, Any]) -> list[Figure]:
    with cluster("--simulate") as started:
        _start(started, settings["pods"])
        many = _seen(started, "--no-exec")
    with ExitStack() as stack:
        started = stack.enter_context(cluster())
        _start(started, settings["entered"])
        for _ in range(settings["busy"]):
            process = subprocess.Popen(BUSY)
            stack.callback(process.wait)
            stack.callback(process.kill)
        entered = _seen(started, "--sample", str(SAMPLE))
    rules = max(_rules(recording.read(path)) for path in CORPUS.iterdir())
    return [
        Figure(
            "diagnosis, API only", many["seconds"]["api"], "s", f"a job of {settings['pods']} pods, logs of all of them included"
        ),
        Figure("rules", rules * 1000, "ms", "the recorded fault that takes longest"),
        *(_rules_of_many(f"hang of {ranks} ranks", hang, ranks, "H01") for ranks in settings["hung_ranks"]),
        *(_rules_of_many(f"straggler of {ranks} ranks", straggling, ranks, "S01") for ranks in settings["hung_ranks"][-1:]),
        Figure(
            "stacks, two samples",
            entered["seconds"]["exec"] - SAMPLE,
            "s",
            f"of {settings['entered']} pods beside {settings['busy']} processes that are always busy; without the pause between",
        ),
    ]


def _start(started: Cluster, pods: int) -> None:
    """Returns when all pods of the job run."""
    stepping = job("job", STEPS)
    stepping["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = pods - 1
    started.ask("POST", JOBS, stepping)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        items = started.ask("GET", "/api/v1/namespaces/default/pods")["items"]
        if sum(item.get("status", {}).get("phase") == "Running" for item in items) == pods:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"not all {pods} pods run within {PATIENCE_SECONDS:.0f} s")
        time.sleep(0.2)


def _seen(started: Cluster, *options: str) -> dict[str, Any]:
    environment = {**os.environ, "KUBECONFIG": str(started.state_dir / "kubeconfig")}
    command = [SHUNTER, "doctor", "job", "-o", "json", *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    report: dict[str, Any] = json.loads(done.stdout)
    if report["verdicts"] or any(one["what"] == "stacks" and not options[0] == "--no-exec" for one in report["notChecked"]):
        raise RuntimeError(f"a healthy job: {done.stdout}")
    return report


def _rules_of_many(what: str, make: Callable[[int], Evidence], ranks: int, id: str) -> Figure:
    found = make(ranks)
    diagnose(found, found.at)
    (verdict,) = diagnose(found, found.at).verdicts
    if (verdict.id, verdict.ranks) != (id, (ranks // 2,)):
        raise RuntimeError(f"{what}: {verdict}")
    processes, lines = len(found.samples[0].processes), sum(log.text.count("\n") for log in found.logs)
    seconds = [_rules(make(ranks)) for _ in range(5)]
    note = (
        f"{processes:,} processes in {len(found.pods)} pods, {len(found.samples)} samples, {lines:,} lines of logs;"
        f" {spread([1000 * one for one in seconds])}"
    )
    return Figure(f"rules, {what}", statistics.median(seconds) * 1000, "ms", note)


def _rules(evidence: Evidence) -> float:
    """Seconds of processor time."""
    begun = time.process_time()
    diagnose(evidence, evidence.at)
    return time.process_time() - begun
