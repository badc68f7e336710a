"""The view of one job: what its head and ranks say of the objects that are there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.api.meta import Json
from shunter.api.yaml import load_yaml
from shunter.doctor.rank_locations import ranks_by_pod
from shunter.doctor.verdicts import Excerpt, Report, Verdict
from shunter.errors import InputError
from shunter.jobs.metrics import Point, Series
from shunter.jobs.pods_up import up
from shunter.kube import client as kube_client
from shunter.kube.client import Client
from shunter.kube.transport import Response
from shunter.operator.overview import job_state
from shunter.operator.training_progress import Progress
from shunter.page.job_readings import Diagnosis, Usage
from shunter.page.views import rank_rows
from shunter.page.views.job import JobView, KeptEvent, Logged, open_job
from shunter.page.views.rank_rows import KeptPod, kept_pod
from shunter.page.views.view import Observed, PageOptions, Parameters, Rows, Viewer
from shunter.page.wire import JobDetail, Rank

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC).timestamp()


class NoServer:
    """A transport for views that are given what they show."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        raise AssertionError(path)

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if path:
            raise AssertionError(path)
        yield b""

    async def close(self) -> None:
        return


TRAIN_JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: vision, uid: job-1, resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 3}}
"""
V1_JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert, namespace: vision, uid: job-1, resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {runPolicy: {backoffLimit: 4}, pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 2}}}
status: {conditions: [{type: Running, status: "True", reason: PyTorchJobRunning, message: it runs}]}
"""


def train_pod(index: int, **status: Any) -> Json:
    """A pod of TRAIN_JOB; it runs unless `status` says otherwise."""
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "bert",
        "jobset.sigs.k8s.io/replicatedjob-name": "node",
        "batch.kubernetes.io/job-completion-index": str(index),
    }
    return _pod(f"bert-node-0-{index}", labels, "node", status)


def v1_pod(role: str, index: int, **status: Any) -> Json:
    labels = {
        "training.kubeflow.org/job-name": "bert",
        "training.kubeflow.org/replica-type": role,
        "training.kubeflow.org/replica-index": str(index),
    }
    return _pod(f"bert-{role}-{index}", labels, "pytorch", status)


def _pod(name: str, labels: Json, container: str, status: Json) -> Json:
    running = {"phase": "Running", "containerStatuses": [{"name": container, "restartCount": 0, "state": {"running": {}}}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "vision",
            "uid": f"uid-{name}",
            "labels": labels,
            "creationTimestamp": "2026-01-01T00:00:01Z",
            "ownerReferences": [{"uid": "job-1", "controller": True}],
            "managedFields": [{}],
        },
        "spec": {
            "nodeName": "node-a",
            "containers": [
                {
                    "name": container,
                    "env": [{"name": "TOKEN", "value": "s3cret"}],
                    "resources": {"limits": {"memory": "16Gi", "nvidia.com/gpu": "8"}},
                }
            ],
        },
        "status": status or running,
    }


def view_of(job: Json, *, is_read_only: bool = False) -> JobView:
    viewer = Viewer(Client(NoServer()), "ann", PageOptions("prod", is_read_only=is_read_only, kubectl="kubectl --context prod"))
    found = open_job(viewer, Parameters((job["metadata"]["namespace"],), job["kind"], job["metadata"]["name"]))
    assert isinstance(found, JobView)
    return found


def observed(
    job: Json | None, pods: list[Json], *, jobset: Json | None = None, refused: str = "", **readings: object
) -> Observed:
    objects: dict[str, dict[str, Any]] = {
        "job": {job["metadata"]["uid"]: job} if job else {},
        "pods": {pod["metadata"]["uid"]: kept_pod(pod) for pod in pods},
        "events": {},
        "jobset": {"set": jobset} if jobset else {},
    }
    return Observed(objects, readings, frozenset({refused} if refused else ()))


def head(rows: Rows) -> JobDetail:
    (found,) = rows["job"]
    assert isinstance(found, JobDetail)
    return found


def ranks(rows: Rows) -> list[tuple[int | None, str, str]]:
    return [(row.rank, row.state, row.reason) for row in rows["ranks"] if isinstance(row, Rank)]


def test_ranks_are_wanted_by_the_job_and_not_by_the_pods_that_are_there() -> None:
    job = load_yaml(TRAIN_JOB)
    rows = view_of(job).rows(observed(job, [train_pod(0), train_pod(2)]), NOW)
    assert (head(rows).up, head(rows).wanted) == (2, 3)
    assert ranks(rows) == [(0, "Running", ""), (1, "Waiting", "no pod"), (2, "Running", "")]
    assert [row.id for row in rows["ranks"]] == ["uid-bert-node-0-0", "rank-1", "uid-bert-node-0-2"]


def test_a_rank_with_a_container_that_has_ended_is_not_up() -> None:
    job = load_yaml(TRAIN_JOB)
    containers = [{"name": "node", "state": {"running": {}}}, {"name": "logs", "state": {"terminated": {"exitCode": 0}}}]
    pods = [train_pod(0), train_pod(1, phase="Running", containerStatuses=containers)]
    assert head(view_of(job).rows(observed(job, pods), NOW)).up == up(job, pods) == 1


def test_the_ranks_of_a_job_in_another_cluster_are_counted_by_its_status() -> None:
    job = load_yaml(V1_JOB)
    job["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue"}
    job["status"]["replicaStatuses"] = {"Master": {"active": 1}, "Worker": {"active": 1}}
    assert head(view_of(job).rows(observed(job, []), NOW)).up == 2


def test_a_train_job_that_leaves_its_nodes_to_the_runtime_wants_what_its_jobset_says() -> None:
    job = load_yaml(TRAIN_JOB)
    del job["spec"]["trainer"]
    jobset = load_yaml("""
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: bert, namespace: vision, ownerReferences: [{uid: job-1, controller: true}]}
    spec:
      failurePolicy: {maxRestarts: 3}
      replicatedJobs:
      - {name: dataset-initializer, template: {spec: {parallelism: 1}}}
      - {name: node, template: {spec: {parallelism: 4}}}
    status: {restarts: 2, restartsCountTowardsMax: 1}
    """)
    found = head(view_of(job).rows(observed(job, [], jobset=jobset), NOW))
    assert (found.wanted, found.restarts, found.restart_limit) == (4, 1, 3)
    assert ("Restarts", "1 of 3 used, and 1 that does not count") in found.facts


def test_restarts_of_ranks_are_not_counted_against_a_limit_that_counts_otherwise() -> None:
    job = load_yaml(V1_JOB)
    job["status"]["rankFailures"] = RECORD
    found = head(view_of(job).rows(observed(job, []), NOW))
    assert (found.restarts, found.restart_limit) == (2, None)
    assert ("Limits", "backoffLimit 4") in found.facts


V1_KINDS = {
    "PyTorchJob": ("pytorchReplicaSpecs", {"Master": 1, "Worker": 2}),
    "TFJob": ("tfReplicaSpecs", {"Chief": 1, "Worker": 2}),
    "MPIJob": ("mpiReplicaSpecs", {"Launcher": 1, "Worker": 2}),
    "XGBoostJob": ("xgbReplicaSpecs", {"Master": 1, "Worker": 2}),
    "PaddleJob": ("paddleReplicaSpecs", {"Master": 1, "Worker": 2}),
    "JAXJob": ("jaxReplicaSpecs", {"Worker": 3}),
}


@pytest.mark.parametrize("kind", V1_KINDS)
def test_every_kind_of_v1_has_its_ranks(kind: str) -> None:
    field, roles = V1_KINDS[kind]
    job = load_yaml(V1_JOB)
    job |= {"kind": kind, "spec": {field: {role: {"replicas": replicas} for role, replicas in roles.items()}}}
    pods = [v1_pod(role.lower(), index) for role, replicas in roles.items() for index in range(replicas)]
    rows = view_of(job).rows(observed(job, pods), NOW)
    assert head(rows).kind == kind
    assert head(rows).wanted == 3
    assert [(row.rank, row.pod) for row in rows["ranks"] if isinstance(row, Rank)] == [
        (number, pod["metadata"]["name"]) for number, pod in enumerate(pods)
    ]


def test_a_job_of_kubernetes_has_its_indexes_as_ranks() -> None:
    job = load_yaml("""
    apiVersion: batch/v1
    kind: Job
    metadata: {name: bert, namespace: vision, uid: job-1, resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z"}
    spec: {completionMode: Indexed, completions: 2, backoffLimit: 6, template: {spec: {containers: [{name: main}]}}}
    status: {ready: 1}
    """)
    pod = _pod("bert-1-x", {"batch.kubernetes.io/job-completion-index": "1"}, "main", {})
    rows = view_of(job).rows(observed(job, [pod]), NOW)
    assert ranks(rows) == [(0, "Waiting", "no pod"), (1, "Running", "")]
    assert head(rows).restart_limit == 6


def test_a_cell_says_where_its_pod_is_and_what_it_has_without_values_of_its_variables() -> None:
    job = load_yaml(V1_JOB)
    kept = kept_pod(v1_pod("worker", 1))
    assert "s3cret" not in str(kept.object)
    used = {"uid-bert-worker-1": Usage(1.5, 1024)}
    rows = view_of(job).rows(observed(job, [v1_pod("worker", 1)], usage=used), NOW)
    cell = next(row for row in rows["ranks"] if isinstance(row, Rank) and row.pod)
    assert (cell.rank, cell.label, cell.node, cell.gpus) == (2, "worker-1", "node-a", 8)
    assert (cell.cpu, cell.memory, cell.memory_limit) == (1.5, 1024, 16 * 2**30)


FAILED_RANK: Json = {
    "phase": "Failed",
    "containerStatuses": [{"name": "node", "restartCount": 0, "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}],
}


def test_a_pod_that_changes_is_the_only_one_that_is_projected_again() -> None:
    job = load_yaml(TRAIN_JOB)
    job["spec"]["trainer"]["numNodes"] = 50
    view, pods = view_of(job), [train_pod(index) for index in range(50)]
    state = observed(job, pods)
    before = view.rows(state, NOW)["ranks"]
    changed = dict(state.objects["pods"])
    changed[pods[7]["metadata"]["uid"]] = kept_pod(train_pod(7, **FAILED_RANK))
    objects = {**state.objects, "pods": changed}
    after = view.rows(Observed(objects, {}), NOW)
    assert [row.id for row, old in zip(after["ranks"], before, strict=True) if row is not old] == ["uid-bert-node-0-7"]
    assert head(after).up == 49
    assert head(after).differing == ("7 Failed: OOMKilled, exit code 137 (SIGKILL)",)


STATES_OF_PODS: dict[str, Json] = {
    "runs": {},
    "waits": {"phase": "Pending"},
    "failed": FAILED_RANK,
    "succeeded": {"phase": "Succeeded"},
}
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["gone", "another", "suspend", "record", *STATES_OF_PODS]),
        st.integers(0, 4),
        st.sampled_from([None, "2026-01-01T00:00:01Z", "2026-01-01T00:05:00Z"]),
    ),
    max_size=10,
)


@given(CHANGES)
def test_ranks_depend_on_what_is_there_and_not_on_how_it_came(changes: list[tuple[str, int, str | None]]) -> None:
    """A view that has seen every change says what one says that sees their end for the first time."""
    job, kept, used = (
        load_yaml(TRAIN_JOB),
        dict[str, Any](),
        {f"uid-bert-node-0-{index}": Usage(0.5, index) for index in range(2)},
    )
    view = view_of(job)
    for number, (change, index, created) in enumerate(changes):
        pod = train_pod(index, **STATES_OF_PODS.get(change, {}))
        pod["metadata"]["creationTimestamp"] = created or "2025-01-01T00:00:00Z"
        if change == "another":
            pod["metadata"]["uid"] += f"-{number}"
        if change == "gone":
            kept.pop(pod["metadata"]["uid"], None)
        elif change in ("suspend", "record"):
            job = msgspec.json.decode(msgspec.json.encode(job))
            job["spec"]["suspend"] = change == "suspend"
            job["status"] = {"rankFailures": RECORD} if change == "record" else {}
        else:
            kept[pod["metadata"]["uid"]] = kept_pod(pod)
        seen = Observed({"job": {"job-1": job}, "pods": dict(kept), "events": {}}, {"usage": used})
        after, fresh = (one.rows(seen, NOW) for one in (view, view_of(job)))
        assert after == fresh
        assert head(after).up == up(job, [one.object for one in kept.values()])


def test_a_change_of_one_of_a_thousand_pods_reads_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    job = load_yaml(V1_JOB)
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 999
    view, pods = view_of(job), [v1_pod("master", 0), *(v1_pod("worker", index) for index in range(999))]
    state = observed(job, pods, usage={pod["metadata"]["uid"]: Usage(1.0, 1) for pod in pods})
    before = view.rows(state, NOW)["ranks"]
    read = list[str]()

    projected = rank_rows._projected

    def noted(job: Json, rule: Any, rank: int | None, kept: KeptPod) -> Any:
        read.append(kept.object["metadata"]["name"])
        return projected(job, rule, rank, kept)

    def unasked(*_: object) -> None:
        raise AssertionError("a pod that has not changed is looked at")

    monkeypatch.setattr(rank_rows, "_projected", noted)
    state.objects["pods"]["uid-bert-worker-416"] = kept_pod(v1_pod("worker", 416, **FAILED_RANK))  # type: ignore[index]
    after = view.rows(state, NOW)["ranks"]
    assert read == ["bert-worker-416"]
    assert [row.id for row, old in zip(after, before, strict=True) if row is not old] == ["uid-bert-worker-416"]
    for name in ("is_pod_of", "pod_up", "_projected", "_with_measures"):
        monkeypatch.setattr(rank_rows, name, unasked)
    assert all(row is old for row, old in zip(view.rows(state, NOW)["ranks"], after, strict=True))


@pytest.mark.parametrize("number", ["8", "auto"])
def test_what_is_kept_of_a_pod_says_how_many_ranks_it_has(number: str) -> None:
    """Large jobs are diagnosed by what is kept."""
    job, pod = load_yaml(V1_JOB), v1_pod("worker", 4)
    env = [{"name": "TOKEN", "value": "x"}, {"name": "PET_NPROC_PER_NODE", "value": number}]
    pod["spec"] = {
        "containers": [
            {"name": "pytorch", "command": ["torchrun", "t.py"], "env": env, "resources": {"limits": {"nvidia.com/gpu": "8"}}}
        ]
    }
    kept = kept_pod(pod).object
    assert ranks_by_pod(job, [kept]) == ranks_by_pod(job, [pod]) == {pod["metadata"]["name"]: tuple(range(40, 48))}
    assert kept["spec"]["containers"][0]["env"][0] == {"name": "TOKEN"}


def test_pods_share_what_they_have_in_common_and_what_is_shared_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = dict[bytes, Any]()
    first, second = (kept_pod(v1_pod("worker", index), shared).object for index in range(2))
    assert first["spec"]["containers"] is second["spec"]["containers"]
    assert first["metadata"]["name"] != second["metadata"]["name"]
    monkeypatch.setattr(rank_rows, "MOST_SHARED", 10)
    for index in range(100):
        pod = v1_pod("worker", index)
        pod["spec"]["containers"][0]["args"] = [str(index)]
        assert kept_pod(pod, shared).object["spec"]["containers"][0]["args"] == [str(index)]
    assert len(shared) <= 13


def test_a_pod_that_is_replaced_moves_no_other_rank() -> None:
    job = load_yaml(V1_JOB)
    view, pods = view_of(job), [v1_pod("master", 0), v1_pod("worker", 0), v1_pod("worker", 1)]
    before = view.rows(observed(job, pods), NOW)["ranks"]
    state = observed(job, pods)
    del state.objects["pods"]["uid-bert-worker-0"]  # type: ignore[attr-defined]
    gone = view.rows(state, NOW)["ranks"]
    assert [row.id for row in gone] == ["uid-bert-master-0", "rank-1", "uid-bert-worker-1"]
    new = v1_pod("worker", 0)
    new["metadata"] |= {"uid": "new", "creationTimestamp": "2026-01-01T00:30:00Z"}
    again = view.rows(observed(job, [*pods[::2], new]), NOW)["ranks"]
    assert [row.id for row in again] == ["uid-bert-master-0", "new", "uid-bert-worker-1"]
    assert (again[0], again[2]) == (before[0], before[2])


def test_what_a_rank_shows_follows_a_change_of_its_job() -> None:
    job = load_yaml(TRAIN_JOB)
    view = view_of(job)
    view.rows(observed(job, [train_pod(0)]), NOW)
    job = load_yaml(TRAIN_JOB)
    job["spec"]["suspend"] = True
    assert ranks(view.rows(observed(job, []), NOW)) == [(number, "Suspended", "the job is suspended") for number in range(3)]
    job = load_yaml(TRAIN_JOB) | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    assert [state for _, state, _ in ranks(view.rows(observed(job, []), NOW))] == ["Gone"] * 3


RECORD = load_yaml("""
count: 4
last:
- rank: 1
  pod: bert-node-0-1
  podUID: gone
  container: node
  reason: OOMKilled
  exitCode: 137
  message: "RuntimeError: CUDA out of memory \\u202e"
  time: "2026-01-01T00:10:00Z"
- rank: 1
  pod: bert-node-0-1
  podUID: gone-2
  container: node
  reason: OOMKilled
  exitCode: 137
  message: "RuntimeError: CUDA out of memory \\u202e"
  time: "2026-01-01T00:11:00Z"
""")


def test_a_failure_stays_when_its_pod_was_replaced() -> None:
    job = load_yaml(TRAIN_JOB) | {"status": {"rankFailures": RECORD, "jobsStatus": [{"name": "node", "active": 3, "ready": 3}]}}
    rows = view_of(job).rows(observed(job, [train_pod(index) for index in range(3)]), NOW)
    assert head(rows).failures == 4
    assert ranks(rows)[1] == (1, "Running", "")
    assert head(rows).differing == ("1 restarted 2 times (last: OOMKilled, exit code 137 (SIGKILL))",)
    told = [(row.text, row.rank, row.times, row.tone) for row in rows["timeline"]]  # type: ignore[attr-defined]
    failure = (
        "rank 1, pod bert-node-0-1, container node: OOMKilled, exit code 137 (SIGKILL): RuntimeError: CUDA out of memory <U+202E>"
    )
    assert told == [("Created", None, 1, "plain"), (failure, 1, 2, "bad")]


def test_an_event_that_changes_twice_between_two_looks_is_told_as_it_is_now() -> None:
    """Even where its newest object lies in memory where the one last shown was."""
    job = load_yaml(TRAIN_JOB)
    events: dict[str, KeptEvent] = {}
    view, seen = view_of(job), Observed({**observed(job, []).objects, "events": events}, {}, frozenset())
    event: Json = {
        "metadata": {"uid": "event"},
        "type": "Warning",
        "reason": "Queued",
        "involvedObject": {"kind": "TrainJob", "name": "bert", "namespace": "vision", "uid": "job-1"},
        "lastTimestamp": "2026-01-01T00:00:03Z",
    }

    def told() -> list[str]:
        return [row.text for row in view.rows(seen, NOW)["timeline"]][1:]  # type: ignore[attr-defined]

    events["event"] = KeptEvent(event | {"message": "one"}, may_tell=True)
    assert told() == ["Queued: one"]
    newest = {"message": "three"}
    place = id(events["event"].object)
    events["event"] = KeptEvent(event | {"message": "two"}, may_tell=True)
    others = [event | newest]
    while id(others[-1]) != place and len(others) < 1000:
        others.append(event | newest)
    events["event"] = KeptEvent(others[-1], may_tell=True)
    assert told() == ["Queued: three"]


def test_the_headline_is_what_was_diagnosed_of_this_job_and_no_other() -> None:
    job = load_yaml(TRAIN_JOB)
    verdict = Verdict(
        id="K05",
        title="OUT OF MEMORY",
        cause="rank 1 was killed",
        confidence="certain",
        ranks=(1,),
        evidence=(Excerpt("log", "step 3 \x1b[31mkilled\x1b[0m", "bert-node-0-1", rank=1),),
        remedy="Give it more.",
    )
    report = Report(job="TrainJob vision/bert", state="Failed", ranks=3, at=datetime.now(UTC), verdicts=(verdict,))
    job["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
    found = Diagnosis("job-1", "rank 1 was killed", "Give it more.", report, state="Failed")
    rows = view_of(job).rows(observed(job, [], diagnosis=found), NOW)
    assert (head(rows).why, head(rows).remedy) == ("rank 1 was killed", "Give it more.")
    (row,) = rows["verdicts"]
    assert row.evidence[0].text == "step 3 killed"  # type: ignore[attr-defined]
    assert (row.log_rank, row.evidence[0].log_rank) == (None, None)  # type: ignore[attr-defined]
    (row,) = view_of(job).rows(observed(job, [], diagnosis=found._replace(log_ranks={1: 0})), NOW)["verdicts"]
    assert (row.log_rank, row.evidence[0].log_rank) == (0, 0)  # type: ignore[attr-defined]
    for passed in (found._replace(uid="an earlier one"), found._replace(state="Running")):
        other = view_of(job).rows(observed(job, [], diagnosis=passed), NOW)
        assert (head(other).why, other["verdicts"]) == ("", [])


def test_what_may_not_be_read_is_unknown_and_not_none() -> None:
    job = load_yaml(V1_JOB)
    rows = view_of(job).rows(observed(job, [], refused="pods"), NOW)
    assert (head(rows).up, head(rows).wanted) == (None, 3)
    assert rows["ranks"] == []
    refused = view_of(job).rows(observed(job, [], logs=Logged("job-1", is_refused=True)), NOW)
    assert ("Logs", "you may not read the logs of these pods") in head(refused).facts


def test_actions_are_offered_as_far_as_they_are_allowed_and_none_where_the_page_only_reads() -> None:
    job = load_yaml(V1_JOB)
    verbs = frozenset({"patch", "delete"})
    allowed = head(view_of(job).rows(observed(job, [], verbs=verbs), NOW))
    assert [(action.name, action.asks_name) for action in allowed.actions] == [("suspend", False), ("delete", True)]
    assert allowed.actions[0].command.startswith("kubectl --context prod patch pytorchjob bert -n vision ")
    assert allowed.kubectl == "kubectl --context prod get pytorchjob bert -n vision -o yaml"
    assert (allowed.uid, allowed.resource_version) == ("job-1", "7")
    assert head(view_of(job).rows(observed(job, []), NOW)).actions == ()
    assert head(view_of(job, is_read_only=True).rows(observed(job, [], verbs=verbs), NOW)).actions == ()


def test_a_job_that_is_gone_has_no_rows() -> None:
    job = load_yaml(V1_JOB)
    assert not any(view_of(job).rows(observed(None, [v1_pod("master", 0)]), NOW).values())


def test_curves_say_where_they_are_from_and_ranks_that_are_slow_are_named() -> None:
    job = load_yaml(TRAIN_JOB)

    def told(seconds: float) -> tuple[Series, ...]:
        points = tuple(Point((float(step),), 1 / (step + 1), 1000 + step * seconds) for step in range(20))
        return (Series("loss", rank=0, points=points),)

    by_rank = {0: told(1.0), 1: told(1.0), 2: told(1.5)}
    by_rank = {rank: (Series("loss", rank=rank, points=series[0].points),) for rank, series in by_rank.items()}
    rows = view_of(job).rows(
        observed(job, [train_pod(index) for index in range(3)], logs=Logged("job-1", by_rank, range(3))), NOW
    )
    assert [(row.name, row.rank, row.source, len(row.points)) for row in rows["series"]] == [  # type: ignore[attr-defined]
        ("loss", rank, "log", 20) for rank in range(3)
    ]
    assert head(rows).differing == ("2 slow (steps take 50 % longer)",)
    cells = [(row.step, row.differs) for row in rows["ranks"] if isinstance(row, Rank)]
    assert cells == [(19, ""), (19, ""), (19, "slow (steps take 50 % longer)")]
    rows = view_of(job).rows(
        observed(job, [train_pod(index) for index in range(3)], logs=Logged("job-1", by_rank, range(2))), NOW
    )
    assert head(rows).differing == (), "its log is read no more"


class Logs(NoServer):
    """A transport that knows the lines of each pod so far."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self.asked = 0

    def write(self, pod: str, steps: int) -> None:
        """So many steps more."""
        lines = self.lines.setdefault(pod, [])
        for step in range(len(lines) + 1, len(lines) + steps + 1):
            lines.append(f"2026-01-01T00:00:{step:02}Z Train Epoch: 1 [{step}/60]\tloss=0.{step:02}\n")

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        self.asked += 1
        yield "".join(self.lines[path.split("/")[-2]]).encode()


def steps_read(logged: Logged) -> dict[int, int]:
    return {rank: len(series[0].points) for rank, series in logged.by_rank.items()}


async def test_a_rank_that_was_the_lowest_for_a_while_is_read_on() -> None:
    server, job = Logs(), load_yaml(TRAIN_JOB)
    view = open_job(Viewer(Client(server), "ann", PageOptions("prod")), Parameters(("vision",), "TrainJob", "bert"))
    assert isinstance(view, JobView)
    pods = [train_pod(index) for index in range(3)]
    for pod in pods:
        server.write(pod["metadata"]["name"], 2)
    without_first = await view._logged(Client(server), observed(job, pods[1:]))
    assert steps_read(without_first) == {1: 2, 2: 2}
    for pod in pods:
        server.write(pod["metadata"]["name"], 2)
    assert steps_read(await view._logged(Client(server), observed(job, pods))) == {0: 4, 1: 4, 2: 4}
    server.write("bert-node-0-1", 3)
    assert steps_read(await view._logged(Client(server), observed(job, pods[1:]))) == {0: 4, 1: 7, 2: 4}


def test_a_doctor_without_an_answer_is_shown() -> None:
    job = load_yaml(TRAIN_JOB)
    late = Diagnosis("job-1", state=job_state(job), not_checked="the doctor had no answer within 50 s")
    facts = head(view_of(job).rows(observed(job, [train_pod(0)], diagnosis=late), NOW)).facts
    assert ("Not checked", "the doctor had no answer within 50 s") in facts


@pytest.mark.parametrize("silent", [0, 1])
async def test_a_rank_whose_log_does_not_come_does_not_hide_the_others(silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube_client, "LOG_SECONDS", 0.05)

    class Frozen(Logs):
        async def stream(
            self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
        ) -> AsyncGenerator[bytes]:
            if f"-{silent}/" in path:
                await asyncio.Event().wait()
            async for chunk in super().stream(method, path, params=params, headers=headers):
                yield chunk

    server, job, pods = Frozen(), load_yaml(TRAIN_JOB), [train_pod(index) for index in range(3)]
    view = open_job(Viewer(Client(server), "ann", PageOptions("prod")), Parameters(("vision",), "TrainJob", "bert"))
    assert isinstance(view, JobView)
    for pod in pods:
        server.write(pod["metadata"]["name"], 2)
    logged = await view._logged(Client(server), observed(job, pods))
    assert {rank for rank, series in logged.by_rank.items() if series} == {0, 1, 2} - {silent}
    facts = head(view.rows(observed(job, pods, logs=logged), NOW)).facts
    assert ("Logs", f"no answer from the node of rank {silent}") in facts


async def test_a_job_that_was_made_again_has_curves_of_its_own() -> None:
    server, job = Logs(), load_yaml(TRAIN_JOB)
    view = open_job(Viewer(Client(server), "ann", PageOptions("prod")), Parameters(("vision",), "TrainJob", "bert"))
    assert isinstance(view, JobView)
    server.write("bert-node-0-0", 2)
    server.write("bert-node-0-1", 2)
    assert steps_read(await view._logged(Client(server), observed(job, [train_pod(0), train_pod(1)]))) == {0: 2, 1: 2}
    job["metadata"]["uid"] = "job-2"
    server.lines = {}
    assert steps_read(await view._logged(Client(server), observed(job, []))) == {}
    server.write("bert-node-0-0", 1)
    assert steps_read(await view._logged(Client(server), observed(job, [train_pod(0)]))) == {0: 1}


def test_what_was_read_of_a_job_says_nothing_of_another_of_its_name() -> None:
    """Until the logs of the new one are read it has no curve and no progress, and its ranks use nothing."""
    job = load_yaml(TRAIN_JOB)
    series = {0: (Series("loss", rank=0, points=tuple(Point((float(step),), 1.0, 1000.0 + step) for step in range(20))),)}
    logged = Logged("job-1", series, (0,), progress=Progress(step=19, steps=20, source="log"))
    used = {"uid-bert-node-0-0": Usage(1.5, 1024)}
    rows = view_of(job).rows(observed(job, [train_pod(0)], logs=logged, usage=used), NOW)
    assert (len(rows["series"]), head(rows).progress is not None) == (1, True)
    assert next((row.step, row.cpu) for row in rows["ranks"] if isinstance(row, Rank)) == (19, 1.5)
    job["metadata"]["uid"] = "job-2"
    again = train_pod(0)
    again["metadata"]["uid"] = "uid-of-the-new-pod"
    rows = view_of(job).rows(observed(job, [again], logs=logged, usage=used), NOW)
    assert (rows["series"], head(rows).progress) == ([], None)
    assert next((row.step, row.cpu) for row in rows["ranks"] if isinstance(row, Rank)) == (None, None)


ODD: Sequence[tuple[str, Any]] = (
    ("trainerStatus", {"progressPercentage": "half", "metrics": []}),
    ("trainerStatus", {"estimatedRemainingSeconds": "soon", "lastUpdatedTime": "2026-01-01T00:00:00Z"}),
    ("trainerStatus", {"metrics": [{"name": 7, "value": "1"}]}),
    ("trainerStatus", [1]),
    ("conditions", "Failed"),
    ("conditions", [{"status": "True"}]),
    ("conditions", [{"type": 7, "status": "True", "message": 8}]),
    ("jobsStatus", [{"name": "node", "active": "many", "ready": "1"}]),
    ("jobsStatus", {"node": 1}),
    ("replicaStatuses", {"Worker": {"active": "3", "failed": "no"}}),
    ("replicaStatuses", [3]),
    ("completionTime", 17),
    ("rankFailures", "none"),
)
"""Fields of a status in a form that no version of ours writes."""


@pytest.mark.parametrize("manifest", [TRAIN_JOB, V1_JOB], ids=["v2", "v1"])
@pytest.mark.parametrize(("field", "value"), ODD, ids=[f"{field}-{number}" for number, (field, _) in enumerate(ODD)])
def test_a_status_of_another_form_is_shown_as_far_as_it_goes_or_fails_where_the_job_is_named(
    manifest: str, field: str, value: object
) -> None:
    """`keep` may fail: the page then says which job could not be shown. What it has kept `rows` must be able to show."""
    job = load_yaml(manifest)
    job["status"] = {**job.get("status", {}), field: value}
    view = view_of(job)
    (watch,) = [watch for watch in view.watches if watch.is_subject]
    try:
        kept = watch.keep(job)
    except Exception:
        return
    assert msgspec.json.encode(view.rows(observed(kept, [v1_pod("worker", 0), train_pod(0)]), NOW))


async def test_the_logs_of_a_job_that_has_ended_are_read_once() -> None:
    server, job = Logs(), load_yaml(TRAIN_JOB) | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    view = open_job(Viewer(Client(server), "ann", PageOptions("prod")), Parameters(("vision",), "TrainJob", "bert"))
    assert isinstance(view, JobView)
    server.write("bert-node-0-0", 2)
    state = observed(job, [train_pod(0)])
    first = await view._logged(Client(server), state)
    asked = server.asked
    assert await view._logged(Client(server), state) is first
    assert server.asked == asked
    server.write("bert-node-0-0", 2)
    assert steps_read(await view._logged(Client(server), observed(job, [train_pod(0, phase="Succeeded")]))) == {0: 4}


@pytest.mark.parametrize(
    "parameters",
    [
        Parameters(("vision",), "Secret", "bert"),
        Parameters(("vision",), "TrainJob", ""),
        Parameters((), "TrainJob", "bert"),
        Parameters(("a", "b"), "TrainJob", "bert"),
    ],
)
def test_a_view_without_its_job_is_refused(parameters: Parameters) -> None:
    with pytest.raises(InputError):
        open_job(Viewer(Client(NoServer()), "", PageOptions("")), parameters)
