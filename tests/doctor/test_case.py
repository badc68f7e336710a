"""Which ranks are in which pods."""

from __future__ import annotations

import pytest

from doctor.evidences import pod, runs, seen
from job_evidence import NOW, v1_job, v2_job
from jobset_pods import SHAPES, pods_of
from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.rank_locations import ranks_of_number


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


def _of_two_ranks(rank: int) -> Json:
    return pod(rank, container={"command": ["torchrun", "--nproc-per-node", "2", "train.py"]}, **runs())


@pytest.mark.parametrize(
    ("pods", "processes", "ranks"),
    [
        ([_of_two_ranks(0), _of_two_ranks(2)], None, (4, 5)),
        ([_of_two_ranks(0)], None, (4, 5)),
        ([], "2", (4, 5)),
        ([], "auto", (2,)),
        ([], None, (2,)),
    ],
    ids=["its replacement is there", "only another is there", "the job says", "the job does not say", "one process a pod"],
)
def test_a_recorded_failure_of_a_pod_that_is_gone_has_the_ranks_of_its_processes(
    pods: list[Json], processes: str | None, ranks: tuple[int, ...]
) -> None:
    """The record has the number of the pod."""
    failure = {
        "pod": "j-worker-1",
        "podUID": "gone",
        "rank": 2,
        "container": "pytorch",
        "restart": 0,
        "reason": "Error",
        "exitCode": 1,
    }
    job = v1_job(2, rankFailures={"count": 1, "last": [failure]})
    job["spec"] |= {"nprocPerNode": processes} if processes else {}
    [ending] = Case(seen(*pods, job=job), NOW).endings
    assert ending.ranks == ranks


def test_a_failure_that_an_earlier_operator_recorded_has_the_rank_of_its_place() -> None:
    """It counted the pods of each replicated job from 0."""
    failure = {
        "pod": "j-worker-1-0-gone1",
        "podUID": "gone",
        "rank": 1,
        "container": "node",
        "restart": 0,
        "reason": "Error",
        "exitCode": 1,
    }
    job = v2_job(3, rankFailures={"count": 1, "last": [failure]})
    pods = [one | {"status": {"phase": "Running"}} for one in pods_of(SHAPES["a Job for each worker"])]
    for one in pods:
        one["metadata"]["ownerReferences"] = []
    [ending] = Case(seen(*pods, job=job), NOW).endings
    assert ending.ranks == (2,)


@pytest.mark.parametrize(("number", "ranks"), [(0, ()), (1, (0, 1)), (2, (2, 3))], ids=["launcher", "worker 0", "worker 1"])
def test_pods_of_an_mpijob_that_are_all_gone_have_the_ranks_of_its_slots(number: int, ranks: tuple[int, ...]) -> None:
    job = {"kind": "MPIJob", "spec": {"slotsPerWorker": 2}}
    assert ranks_of_number(job, {}, number) == ranks
