"""Which ranks are in which pods."""

from __future__ import annotations

from doctor.evidences import pod, runs, seen
from job_evidence import NOW
from shunter.doctor.case import Case


def test_a_rank_of_several_in_one_pod_is_known_by_its_own_environment() -> None:
    command = {"command": ["torchrun", "--nproc-per-node", "2", "train.py"]}
    case = Case(seen(*(pod(rank, container=command, **runs()) for rank in range(3))), NOW)
    assert case.ranks == {"j-master-0": (0, 1), "j-worker-0": (2, 3), "j-worker-1": (4, 5)}


def test_workers_of_an_mpijob_hold_the_ranks_and_its_launcher_none() -> None:
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "metadata": {"name": "j", "namespace": "n", "uid": "u-j"},
        "spec": {"slotsPerWorker": 2, "mpiReplicaSpecs": {"Launcher": {"replicas": 1}, "Worker": {"replicas": 2}}},
    }
    pods = []
    for role, index in (("launcher", 0), ("worker", 0), ("worker", 1)):
        one = pod(1, **runs())
        labels = {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": str(index)}
        one["metadata"] |= {"name": f"j-{role}-{index}", "labels": labels}
        one["spec"]["containers"][0]["name"] = "mpi"
        pods.append(one)
    assert Case(seen(*pods, job=job), NOW).ranks == {"j-worker-0": (0, 1), "j-worker-1": (2, 3)}
