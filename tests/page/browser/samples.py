"""Rows such as a cluster gives, of any size, for tests of the page's scripts, its pictures and its measurements."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from shunter.migrate.proof.proving import STAGES, StageName
from shunter.page import wire
from shunter.page.wire import JobDetail, JobRow, Progress, Rank

GIB = 2**30
KINDS = ("PyTorchJob", "TrainJob", "TFJob", "MPIJob", "JAXJob")
NAMESPACES = ("vision", "nlp", "recsys")
_STATES: Sequence[wire.State] = ("Running", "Succeeded", "Succeeded", "Running", "Suspended", "Succeeded", "Running")


def first_jobs(now: float) -> list[JobRow]:
    """One of each state."""
    return [
        JobRow(
            id="bert",
            namespace="vision",
            name="bert-large",
            kind="PyTorchJob",
            state="Failed",
            up=7,
            wanted=8,
            created=now - 720,
            finished=now - 60,
            why="rank 3: out of memory (15.9 of 16 GiB), exit code 137",
            failures=1,
            progress=Progress(position="step 820/2000", percentage=41, source="log"),
        ),
        JobRow(
            id="gpt",
            namespace="nlp",
            name="gpt-small",
            kind="PyTorchJob",
            state="Restarting",
            up=3,
            wanted=4,
            created=now - 3600,
            why="worker-2 was killed: out of memory (exit code 137), 2nd time",
            progress=Progress(position="step 1260/2000", percentage=63, ends=now + 900),
        ),
        JobRow(
            id="llama",
            namespace="nlp",
            name="llama-ft",
            kind="TrainJob",
            state="Waiting",
            up=0,
            wanted=16,
            created=now - 40,
            why="no node has 8 nvidia.com/gpu free",
        ),
        JobRow(
            id="giant",
            namespace="nlp",
            name="giant",
            kind="PyTorchJob",
            state="Running",
            up=999,
            wanted=1000,
            created=now - 1440,
            progress=Progress(position="step 1220/2000", percentage=61, ends=now + 900, loss=0.412),
        ),
        JobRow(id="ranker", namespace="recsys", name="ranker", kind="XGBoostJob", state="Suspended", up=0, created=now - 7200),
        JobRow(
            id="gromacs",
            namespace="vision",
            name="resnet-50",
            kind="MPIJob",
            state="Succeeded",
            up=0,
            wanted=17,
            created=now - 90000,
            finished=now - 4000,
            progress=Progress(position="step 500/500", percentage=100),
        ),
    ]


def jobs(total: int, now: float | None = None) -> list[JobRow]:
    """`first_jobs`, and so many like them that there are `total`."""
    now = now or time.time()
    first = first_jobs(now)
    return first + [_job(number, now) for number in range(total - len(first))]


def _job(number: int, now: float) -> JobRow:
    state = _STATES[number % len(_STATES)]
    age = 100.0 + number * 701 % 800_000
    is_running = state == "Running"
    share = (number * 37 + 11) % 97 / 100
    return JobRow(
        id=f"u{number}",
        namespace=NAMESPACES[number % 3],
        name=f"{('bert', 'llama', 'vit', 'unet')[number % 4]}-{('base', 'eval', 'ft')[number % 3]}-{number}",
        kind=KINDS[number % len(KINDS)],
        state=state,
        up=8 if is_running else 0,
        wanted=8,
        created=now - age,
        finished=now - age / 3 if state == "Succeeded" else 0,
        progress=Progress(
            position=f"step {int(share * 9000)}/9000", percentage=int(100 * share), ends=now + 60 + int(age * (1 - share))
        )
        if is_running
        else None,
    )


def ranks(total: int, now: float | None = None) -> list[Rank]:
    """Of a job of so many ranks; rank 3 has failed."""
    now = now or time.time()
    return [
        Rank(
            id=f"p{number}",
            rank=number,
            label=f"worker-{number - 1}" if number else "master-0",
            pod=f"giant-worker-{number - 1}" if number else "giant-master-0",
            node=f"node-{number // 8}",
            state="Failed" if number == 3 else "Running",
            restarts=1 if number == 3 else 0,
            step=1220 - number % 3,
            step_seconds=0.41 if number != 12 else 0.52,
            reported=now - 2,
            cpu=7.2,
            memory=int((12 + number % 30 / 10) * GIB),
            memory_limit=16 * GIB,
            gpus=1,
            differs={3: "failed", 12: "slow (-18 %)"}.get(number, ""),
        )
        for number in range(total)
    ]


def job(total: int, now: float | None = None, **changed: Any) -> dict[str, list[wire.Row]]:
    """The rows of the view of a job of so many ranks."""
    now = now or time.time()
    name, namespace = changed.get("name", "bert-large"), changed.get("namespace", "vision")
    fields: dict[str, Any] = {
        "id": "bert",
        "namespace": namespace,
        "name": name,
        "kind": "PyTorchJob",
        "state": "Failed",
        "reason": "PyTorchJobFailed",
        "up": total - 1,
        "wanted": total,
        "created": now - 1440,
        "why": "rank 3: out of memory (15.9 of 16 GiB), exit code 137",
        "uid": "bert",
        "resource_version": "7",
        "restarts": 1,
        "restart_limit": 3,
        "progress": Progress(position="step 1220/2000", percentage=61, ends=now + 900, loss=0.412, reported=now - 2),
        "facts": (("Image", "ghcr.io/acme/train:2026.11"), ("Limits of a rank", "8 cores, 16 GiB, 1 GPU")),
        "conditions": (
            wire.Condition(type="Running", status="False", reason="PyTorchJobFailed", message="It failed.", time=now - 60),
        ),
        "links": (wire.Link(title="MLflow", url="https://mlflow.example.com/#/runs/7", host="mlflow.example.com"),),
        "actions": (
            wire.Action(name="rerun", command=f"shunter run {name} --again -n {namespace}"),
            wire.Action(name="delete", command=f"kubectl delete pytorchjob {name} -n {namespace}", asks_name=True),
        ),
        "kubectl": f"kubectl get pytorchjob {name} -n {namespace} -o yaml",
        "differing": ("3 failed", "12 slow (-18 %)") if total > 12 else ("3 failed",),
    }
    verdict = wire.VerdictRow(
        id="oom",
        title="worker-2 was killed: out of memory (exit code 137)",
        cause="Rank 3 used 15.9 of 16.0 GiB; the others wait for it in all_reduce.",
        confidence="certain",
        ranks=(3,),
        log_rank=3,
        evidence=(
            wire.EvidenceLine(source="pod status", text="OOMKilled, exit code 137", log_rank=3),
            wire.EvidenceLine(source="log", text="RuntimeError: out of memory", log_rank=3),
        ),
        remedy="Give the ranks more memory (resources.limits.memory), or make the batch smaller.",
    )
    timeline = [
        wire.TimelineRow(id="t0", time=now - 1440, text="Created"),
        wire.TimelineRow(id="t1", time=now - 1400, tone="good", text=f"All {total} ranks are up"),
        wire.TimelineRow(
            id="t2",
            time=now - 120,
            tone="bad",
            text="rank 3 (worker-2): OOMKilled, exit code 137",
            rank=3,
            lines=("Traceback (most recent call last):", "RuntimeError: out of memory"),
        ),
    ]
    return {
        "job": [JobDetail(**{**fields, **changed})],
        "ranks": list(ranks(total, now)),
        "verdicts": [verdict],
        "timeline": list(timeline),
        "series": [_curve("loss"), _curve("learning_rate")],
        "checkpoints": [
            wire.CheckpointRow(id="c", step=1000, saved=now - 600, size=3 * GIB, place="pvc/checkpoints/bert-large/step-1000")
        ],
    }


def _curve(name: str) -> wire.SeriesRow:
    scale = 1.0 if name == "loss" else 3e-4
    points = tuple((float(step), scale * (0.4 + 2.2 * math.exp(-step / 350))) for step in range(0, 1220, 2))
    return wire.SeriesRow(id=name, name=name, source="trainerStatus", points=points)


def cluster(now: float | None = None) -> dict[str, list[wire.Row]]:
    """The rows of the view of a cluster of twelve nodes."""
    nodes = [
        wire.NodeRow(
            id=f"n{number}",
            name=f"node-{number}",
            is_ready=number != 5,
            is_schedulable=number != 4,
            gpus=8,
            gpus_asked=8 if number < 4 else 3,
            cpu=96,
            cpu_asked=60.5 + number,
            memory=256 * GIB,
            memory_asked=(150 + 8 * number) * GIB,
            pressure=("memory",) if number == 5 else (),
            jobs=("giant 0-7", "bert-large 0-3") if number < 4 else (),
        )
        for number in range(12)
    ]
    summary = wire.ClusterSummary(
        id="cluster",
        version="v1.36.3",
        nodes=12,
        ready=11,
        gpus=96,
        gpus_asked=56,
        waiting_jobs=1,
        waiting_gpus=16,
        operator="2 replicas, leader shunter-operator-a",
    )
    queue = wire.QueueRow(
        id="q",
        namespace="nlp",
        name="team-a",
        cluster_queue="gpus",
        pending=2,
        admitted=5,
        usage=(("nvidia.com/gpu", "40", "48"),),
    )
    waiting = [row for row in first_jobs(now or time.time()) if row.state == "Waiting"]
    return {"cluster": [summary], "nodes": list(nodes), "waiting": list(waiting), "queues": [queue]}


def _migration_row(name: str, wave: int, state: str, **fields: Any) -> wire.JobMigration:
    return wire.JobMigration(id=name, wave=wave, namespace="vision", name=name, kind="PyTorchJob", state=state, **fields)


APPLY = "shunter migrate apply --plan plan.yaml"


def _reaches(stage: StageName) -> str:
    return f"{stage}: {STAGES[stage]}"


def migration() -> dict[str, list[wire.Row]]:
    """The rows of the view of a plan of two waves."""
    summary = wire.MigrationSummary(
        id="migration",
        plan="plan.yaml",
        counts=(("ready", 1), ("blocked", 1), ("made", 1), ("running", 1), ("finished", 0), ("compared", 1)),
        v1_left=4,
        v1_total=5,
        commands=(("Execute the plan", APPLY),),
    )
    migrations = [
        _migration_row("resnet", 1, "compared", proof=_reaches("runs"), train_job="resnet"),
        _migration_row(
            "bert-large",
            2,
            "blocked",
            findings=2,
            blocking=1,
            first="Pods are kept after the end; v2 deletes them with the job.",
            proof=_reaches("pods"),
            next="apply",
            command="shunter migrate explain POD004",
        ),
        _migration_row("t5", 2, "running", proof=_reaches("runs"), train_job="t5-v2", next="wait until it has finished"),
        _migration_row("vit", 2, "ready", proof=_reaches("yaml"), next="apply", command=APPLY),
        _migration_row(
            "dlrm", 2, "made", proof=_reaches("pods"), train_job="dlrm Suspended", next="to start it, set spec.suspend to false"
        ),
    ]
    waves = [
        wire.Wave(id="w1", number=1, title="Wave 1: one node", total=1, done=1),
        wire.Wave(id="w2", number=2, title="Wave 2: DDP", total=4, done=0),
    ]
    return {"migration": [summary], "waves": list(waves), "moves": list(migrations)}


def job_migration() -> wire.JobMigrationDetail:
    """The page of the blocked one."""
    blocking = wire.FindingText(
        id="POD004",
        severity="error",
        title="Pods are kept after the end",
        message="cleanPodPolicy: None keeps all pods after the job has ended; a TrainJob's stay as long as its JobSet.",
        field="spec.runPolicy.cleanPodPolicy",
        remedy="Save the logs elsewhere, or accept the finding.",
        is_blocking=True,
    )
    note = wire.FindingText(
        id="ENV001",
        severity="warning",
        title="The port is another one",
        message="MASTER_PORT was 23456 and is 29500.",
        field="spec.pytorchReplicaSpecs.Master",
        remedy="",
        is_blocking=False,
    )
    stages = (("yaml", "holds"), ("admission", "holds"), ("objects", "holds"), ("pods", "fails"), ("runs", "not reached"))
    proof = [
        wire.Stage(name=name, status=status, text="Two ranks have another MASTER_PORT." if status == "fails" else "")
        for name, status in stages
    ]
    common = "metadata:\n  name: bert-large\n  namespace: vision\nspec:\n"
    row = next(each for each in migration()["moves"] if each.id == "bert-large")
    assert isinstance(row, wire.JobMigration)
    return wire.JobMigrationDetail(
        migration=row,
        findings=(note, blocking),
        before=f"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n{common}  runPolicy:\n    cleanPodPolicy: None\n",
        after=f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n{common}  trainer:\n    numNodes: 8\n",
        pods=(
            wire.PodPair(
                rank="0", before="bert-large-master-0", after="bert-large-node-0-0", differences=("MASTER_PORT: 23456, 29500",)
            ),
            wire.PodPair(rank="1", before="bert-large-worker-0", after="bert-large-node-0-1"),
        ),
        proof=tuple(proof),
        comparison=(("loss at step 1,000", "0.412", "0.411", "equal within noise"),),
        commands=(("Accept the finding", "shunter migrate plan --accept POD004"),),
    )
