"""From the POST of a TrainJob to the first all_reduce of its ranks, on a cluster that has torch imported (`up --warm torch`).

Cold ranks of the same job are measured in the same run, a few of them.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from embedded import Cluster, cluster, objects, true_conditions
from figures import Figure, percentile
from measurements.first_all_reduce import last_mark

RANK = Path(__file__).parent.parent / "warm_rank.py"
JOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"
PODS = "/api/v1/namespaces/default/pods"


def measure(settings: dict[str, Any]) -> list[Figure]:
    ranks = settings["ranks"]
    with cluster("--warm", "torch") as started:
        by_job(started, "first", ranks)
        warm = [by_job(started, f"warm-{number}", ranks) for number in range(settings["jobs"])]
        cold = [by_job(started, f"cold-{number}", ranks, warm="") for number in range(settings["cold_jobs"])]
        events = started.ask("GET", "/api/v1/namespaces/default/events?fieldSelector=reason%3DColdStart")["items"]
    if events:
        raise RuntimeError(f"not all started warm: {events[0]['message']}")
    return [
        Figure("submit to first all_reduce, p50", 1000 * percentile(warm, 0.5), "ms", f"{len(warm)} jobs of {ranks} ranks"),
        Figure("submit to first all_reduce, p99", 1000 * percentile(warm, 0.99), "ms", f"from {1000 * min(warm):.0f} ms"),
        Figure("the same, cold", 1000 * statistics.median(cold), "ms"),
    ]


def by_job(started: Cluster, name: str, ranks: int, *, warm: str | None = None) -> float:
    """Seconds; `warm` is what the pods say of it, None for nothing."""
    job = objects()["train_job"]
    job["metadata"]["name"] = name
    job["spec"]["trainer"] |= {"numNodes": ranks, "command": ["python", "-c", RANK.read_text()], "numProcPerNode": 1}
    if warm is not None:
        template = {"spec": {"template": {"metadata": {"annotations": {"shunter.dev/warm": warm}}}}}
        patch = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}}
        job["spec"]["runtimePatches"] = [{"manager": "bench.shunter.dev/warm", "trainingRuntimeSpec": patch}]
    submitted = time.time()
    started.ask("POST", JOBS, job)
    for one in started.changes(f"{JOBS}?fieldSelector=metadata.name%3D{name}"):
        ended = true_conditions(one)
        if "Failed" in ended:
            raise RuntimeError(f"job {name} failed: see `shunter describe {name} --state-dir {started.state_dir}`")
        if "Complete" in ended:
            break
    selector = f"labelSelector=jobset.sigs.k8s.io%2Fjobset-name%3D{name}"
    pods = [pod["metadata"]["name"] for pod in started.ask("GET", f"{PODS}?{selector}")["items"]]
    return last_mark("".join(started.ask("GET", f"{PODS}/{pod}/log") for pod in pods), ranks) - submitted
