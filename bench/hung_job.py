"""The evidence of a large job that hangs, or that one rank slows, as `shunter doctor` would read it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shunter.api.meta import Json, rfc3339
from shunter.doctor.evidence import Evidence, Frame, Log, Process, Sample
from shunter.doctor.sampling import PACE_SAMPLES, PACE_SECONDS
from shunter.doctor.waiting import trainers

RANKS_OF_POD = 8


def hang(ranks: int) -> Evidence:
    """What is read of a job of 8 ranks in each pod, each rank with 8 processes that load data, of which the rank in the middle
    does not come to a collective."""
    now = datetime.now(UTC)
    pods = [_pod(number) for number in range(ranks // RANKS_OF_POD)]
    names = [pod["metadata"]["name"] for pod in pods]
    condition = {"type": "Running", "status": "True", "reason": "JobRunning", "message": ""}
    specs = {"Master": {"replicas": 1}, "Worker": {"replicas": len(pods) - 1}}
    metadata = {"name": "large", "namespace": "default", "uid": "job", "creationTimestamp": rfc3339(now - timedelta(hours=1))}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata,
        "spec": {"pytorchReplicaSpecs": specs},
        "status": {"conditions": [condition]},
    }
    written = [rfc3339(now - timedelta(seconds=300 - second)) for second in range(200)]
    text = "".join(f"{at} [rank0]: step {step} loss 0.5\n" for step, at in enumerate(written))
    read = Evidence(
        job=job,
        at=now,
        pods=tuple(pods),
        logs=tuple(Log(pod=name, container="pytorch", text=text) for name in names),
        samples=tuple(
            Sample(
                at=now - timedelta(seconds=before),
                processes=tuple(one for number, name in enumerate(names) for one in _processes(name, number, ranks // 2)),
                last_lines=dict.fromkeys(names, written[-1]),
            )
            for before in (5, 0)
        ),
    )
    # Each process has calls of its own, as when they are read.
    return msgspec.json.decode(msgspec.json.encode(read), type=Evidence)


def straggling(ranks: int) -> Evidence:
    """The same where logs go on, so that more samples were taken, of the ranks only: the one in the middle is slow."""
    found = hang(ranks)
    first, second = found.samples
    second = msgspec.structs.replace(second, last_lines=dict.fromkeys(second.last_lines, rfc3339(second.at)))
    of_ranks = tuple(trainers(second))
    more = [Sample(at=second.at + timedelta(seconds=PACE_SECONDS * number), processes=of_ranks) for number in range(PACE_SAMPLES)]
    seen = msgspec.structs.replace(found, samples=(first, second, *more))
    return msgspec.json.decode(msgspec.json.encode(seen), type=Evidence)


def _pod(number: int) -> Json:
    role, index = ("master", 0) if number == 0 else ("worker", number - 1)
    labels = {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": str(index)}
    name, started = f"large-{role}-{index}", rfc3339(datetime.now(UTC) - timedelta(minutes=50))
    command = ["torchrun", f"--nproc_per_node={RANKS_OF_POD}", "train.py"]
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "creationTimestamp": started,
            "labels": labels,
            "ownerReferences": [{"uid": "job", "kind": "PyTorchJob", "controller": True}],
        },
        "spec": {"nodeName": f"node-{number}", "containers": [{"name": "pytorch", "image": "train", "command": command}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [{"name": "pytorch", "image": "train", "state": {"running": {"startedAt": started}}}],
        },
    }


def _processes(pod: str, number: int, stuck: int) -> Iterator[Process]:
    """torchrun, its ranks, and the processes that load data for them."""
    main = [_frame("main", "train.py", 90), _frame("<module>", "train.py", 120)]
    within = [_frame(f"step_{depth}", "torch/nn/modules/module.py", depth) for depth in range(20)]
    launcher = (_frame("run", "torch/distributed/run.py", 900),)
    yield Process(pod=pod, container="pytorch", pid=1, state="S", frames=launcher)
    for local in range(RANKS_OF_POD):
        rank, pid = number * RANKS_OF_POD + local, 10 + 10 * local
        waits = [_frame("all_reduce", "torch/distributed/distributed_c10d.py", 3000), *within]
        own = [_frame("read", "train.py", 40)]
        frames = (*(own if rank == stuck else waits), *main)
        rest: Any = {"pod": pod, "container": "pytorch", "rank": rank, "state": "S"}
        yield Process(pid=pid, parent=1, frames=frames, cpu_seconds=100.0, switches=1000, **rest)
        loads = (_frame("poll", "multiprocessing/connection.py", 900), _frame("get", "torch/utils/data/_utils/worker.py", 275))
        for worker in range(1, 9):
            yield Process(pid=pid + worker, parent=pid, frames=(*loads, *within, *main), switches=50, **rest)


def _frame(function: str, file: str, line: int) -> Frame:
    return Frame(function=function, file=file, line=line, is_own=file == "train.py")
