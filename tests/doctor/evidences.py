"""Evidence for the tests of rules: a PyTorchJob of three ranks whose pods and logs are as said."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from job_evidence import NOW, ago, v1_job, v1_pod, v2_job
from shunter.doctor.evidence import Evidence, Log

Json = dict[str, Any]
STEP = "step {} loss 0.5"


def pod(rank: int, **parts: Any) -> Json:
    """The pod of a rank of `v1_job(2)`, with its container."""
    spec = parts.pop("spec", {})
    container = {"name": "pytorch", "image": "team/train:1", **parts.pop("container", {})}
    role, index = ("master", 0) if rank == 0 else ("worker", rank - 1)
    return v1_pod(role, index, spec={"containers": [container], **spec}, **parts)


def ended(code: int, *, reason: str = "Error", at: float = 30, message: str = "", **more: Any) -> Json:
    """The parts of a pod whose container ended for good."""
    state = {"exitCode": code, "reason": reason, "startedAt": ago(at + 60), "finishedAt": ago(at), "message": message}
    status = {"name": "pytorch", "state": {"terminated": state}, **more}
    return {"phase": "Succeeded" if code == 0 else "Failed", "containerStatuses": [status]}


def runs(age: float = 400, **more: Any) -> Json:
    """The parts of a pod whose container started so many seconds ago."""
    return {"phase": "Running", "containerStatuses": [{"name": "pytorch", "state": {"running": {"startedAt": ago(age)}}, **more}]}


def log(rank: int, *lines: str, at: float = 30, previous: bool = False, every: float = 0.001) -> Log:
    """A rank's log, whose lines were written up to that many seconds ago."""
    name = pod(rank)["metadata"]["name"]
    first = NOW - timedelta(seconds=at) - timedelta(seconds=every * len(lines))
    texts = [line for text in lines for line in text.splitlines()]
    times = [(first + timedelta(seconds=every * number)).isoformat().replace("+00:00", "Z") for number in range(len(texts))]
    text = "".join(f"{time} {line}\n" for time, line in zip(times, texts, strict=True))
    return Log(pod=name, container="pytorch", text=text, is_previous=previous)


def traceback(exception: str, *frames: str) -> str:
    calls = "".join(f'  File "{frame}", line 7, in work\n    work()\n' for frame in frames or ("/app/train.py",))
    return f"Traceback (most recent call last):\n{calls}{exception}"


def failed(*pods: Json, logs: tuple[Log, ...] = (), **more: Any) -> Evidence:
    """Of a job that has failed."""
    condition = {"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "failed"}
    return seen(*pods, logs=logs, conditions=[condition], **more)


def seen(
    *pods: Json, logs: tuple[Log, ...] = (), conditions: list[Json] | None = None, job: Json | None = None, **more: Any
) -> Evidence:
    """Of a job that runs, unless the conditions say otherwise."""
    told = conditions or [{"type": "Running", "status": "True", "reason": "JobRunning", "message": ""}]
    events = tuple(more.pop("events", ()))
    return Evidence(job=job or v1_job(2, conditions=told), at=NOW, pods=pods, events=events, logs=logs, **more)


def v1(kind: str, **roles: int) -> Json:
    field = f"{kind.removesuffix('Job').lower()}ReplicaSpecs"
    made = v1_job(kind=kind)
    return {**made, "spec": {field: {role: {"replicas": count} for role, count in roles.items()}, "slotsPerWorker": 2}}


def train_job(nodes: int | None, **groups: int) -> tuple[Json, Json]:
    """A TrainJob and its JobSet, with the pods of each group."""
    jobs = [
        {"name": name.replace("_", "-"), "replicas": 1, "template": {"spec": {"parallelism": count}}}
        for name, count in groups.items()
    ]
    return v2_job(nodes), {"kind": "JobSet", "metadata": {"name": "j"}, "spec": {"replicatedJobs": jobs}}


def group_pod(name: str, number: int, *, group: int | None = None) -> Json:
    """The only pod of a Job, which is that number of all; `group` is the number of the first of its replicated job."""
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "j",
        "jobset.sigs.k8s.io/replicatedjob-name": name,
        "jobset.sigs.k8s.io/job-global-index": str(number),
        "jobset.sigs.k8s.io/job-index": str(number - (number if group is None else group)),
        "batch.kubernetes.io/job-completion-index": "0",
    }
    return {"metadata": {"name": f"{name}-0", "labels": labels}, "spec": {"containers": [{"name": "node"}]}, "status": {}}
