"""From jobs and pods, as a cluster shows them, to the record of a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.jobs.logs.metrics import log_report
from shunter.jobs.rank_states import rank_states
from shunter.migrate.moving.runs import trial_labels
from shunter.migrate.moving.runs.integrity import grouping
from shunter.migrate.moving.runs.observation import observed
from shunter.migrate.moving.runs.record import Pod

COMPLETE = {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-21T10:01:00Z"}]}


def train_job(nodes: int, *, status: Json | None = None, annotations: Mapping[str, str] = {}) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "bert", "namespace": "ml", "uid": "u-2", "annotations": annotations},
        "spec": {"trainer": {"numNodes": nodes}},
        "status": status or COMPLETE,
    }


def pod(name: str, *, labels: dict[str, str], restarts: int = 0, created: int = 0, owner: str = "") -> dict[str, Any]:
    state = {"terminated": {"exitCode": 0, "finishedAt": "2026-11-21T10:00:30Z"}}
    owners = [{"uid": owner}] if owner else []
    return {
        "metadata": {
            "name": name,
            "labels": labels,
            "creationTimestamp": f"2026-11-21T10:00:{created:02}Z",
            "ownerReferences": owners,
        },
        "spec": {
            "containers": [{"name": "node", "resources": {"requests": {"cpu": "2"}}}, {"name": "log", "resources": {}}],
            "initContainers": [{"name": "init-pytorch", "resources": {"requests": {"cpu": "9"}}}],
        },
        "status": {
            "startTime": f"2026-11-21T10:00:{created + 1:02}Z",
            "containerStatuses": [{"name": "node", "restartCount": restarts, "state": state}],
        },
    }


def v2_pod(group: str, job: int, index: int, global_job: int, **fields: Any) -> dict[str, Any]:
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "bert",
        "jobset.sigs.k8s.io/replicatedjob-name": group,
        "jobset.sigs.k8s.io/job-index": str(job),
        "jobset.sigs.k8s.io/job-global-index": str(global_job),
        "batch.kubernetes.io/job-completion-index": str(index),
    }
    return pod(f"bert-{group}-{job}-{index}-x{fields.get('created', 0)}", labels=labels, **fields)


def test_initializers_do_not_train() -> None:
    pods = [v2_pod("node", 0, 0, 1), v2_pod("dataset-initializer", 0, 0, 0)]
    assert [pod.label for pod in observed(train_job(1), pods, {}).pods] == ["node-0"]


def test_a_pod_that_took_anothers_place_counts_as_a_restart() -> None:
    pods = [v2_pod("node", 0, 0, 0, created=1, restarts=2), v2_pod("node", 0, 0, 0, created=9, restarts=1)]
    pods[0]["metadata"]["uid"] = "before"
    run = observed(train_job(1), pods, {})
    assert run.pods == (Pod(label="node-0", rank=0, restarts=2, requests={"cpu": "2"}),)


@pytest.mark.parametrize("there", [0, 1])
def test_a_pod_that_failed_and_was_deleted_counts_as_a_restart_as_top_and_page_say(there: int) -> None:
    """The job's record has it; of two that failed one may still be there, and counts once."""
    pods = [v2_pod("node", 0, 0, 0, created=at) for at in (1, 5, 9)][2 - there :]
    for pod in pods:
        pod["metadata"]["uid"] = pod["metadata"]["name"]
    last = [{"rank": 0, "pod": f"bert-node-0-0-x{at}", "podUID": f"bert-node-0-0-x{at}", "exitCode": 1} for at in (1, 5)]
    job = train_job(1, status={**COMPLETE, "rankFailures": {"count": 2, "last": last}})
    assert [pod.restarts for pod in observed(job, pods, {}).pods] == [state.restarts for state in rank_states(job, pods)] == [2]


def test_times_are_those_of_the_pods_that_train() -> None:
    run = observed(train_job(1), [v2_pod("node", 0, 0, 0, created=5)], {})
    assert run.started == datetime(2026, 11, 21, 10, 0, 6, tzinfo=UTC)
    assert run.finished == datetime(2026, 11, 21, 10, 0, 30, tzinfo=UTC)
    assert run.wall_seconds == 24


def test_pods_that_were_removed_when_the_first_rank_succeeded_are_counted_as_gone() -> None:
    """The Job's successPolicy ends them, and nobody can read their logs any more."""
    jobset = {
        "spec": {
            "replicatedJobs": [
                {"name": "dataset-initializer", "template": {"spec": {}}},
                {"name": "master", "template": {"spec": {"parallelism": 1}}},
                {"name": "worker", "replicas": 3, "template": {"spec": {"parallelism": 1}}},
            ]
        }
    }
    assert observed(train_job(4), [v2_pod("master", 0, 0, 0)], {}, jobset).gone == 3


def test_a_v1_job_knows_how_many_pods_it_had() -> None:
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert", "namespace": "ml", "uid": "u-1"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 2}}},
        "status": {"conditions": [{"type": "Succeeded", "status": "True"}]},
    }
    labels = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1"}
    run = observed(
        job, [pod("bert-worker-1", labels=labels)], {"bert-worker-1": log_report(["rank=2 world_size=3"], pod="w", rank=0)}
    )
    assert (run.gone, run.state, run.pods[0].label) == (2, "Succeeded", "worker-1")
    assert grouping(run).shown_ranks == "only 2 printed"


def test_what_a_program_reported_to_its_job_are_final_values() -> None:
    status = {**COMPLETE, "trainerStatus": {"metrics": [{"name": "loss", "value": "0.25"}, {"name": "eta", "value": "soon"}]}}
    (loss,) = observed(train_job(1, status=status), [], {}).series
    assert (loss.name, loss.source, loss.final) == ("loss", "trainerStatus", 0.25)


def test_a_trial_says_how_it_was_changed() -> None:
    assert observed(train_job(1, annotations={trial_labels.CHANGES: '{"nodes":"1 of 3"}'}), [], {}).changed == {"nodes": "1 of 3"}
