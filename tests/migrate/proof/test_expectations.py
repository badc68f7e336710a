"""Which differences between the pods of both sides are expected, rule by rule, and similar ones that are not."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from migrate.proof.jobs import converted, pytorch
from shunter.api.meta import Json
from shunter.migrate.options import Options
from shunter.migrate.pods.differences import Difference
from shunter.migrate.proof.comparison import compared
from shunter.migrate.proof.context import Context
from shunter.migrate.proof.expectations import RULES, expected

ENV = ("containers", "node", "env")
OPERATOR_LABELS = "pods are identified by JobSet's labels, no longer by those of the v1 operator"
JOBSET_LABELS = "JobSet and Job label their pods"
INIT_CONTAINER = "added by the v1 operator, and not needed in v2"
NEW_PORT = "v2 has another rendezvous port"


def paddle() -> Json:
    container = {"name": "paddle", "image": "train:1", "command": ["python", "train.py"]}
    roles = {"Worker": {"template": {"spec": {"containers": [container]}}}}
    return {**pytorch(), "kind": "PaddleJob", "spec": {"paddleReplicaSpecs": roles}}


JOBS = {
    "python": (pytorch(2), Options()),
    "torchrun": (pytorch(2, ["torchrun", "--nproc-per-node=1", "train.py"]), Options()),
    "sleep": (pytorch(2, ["sleep", "60"]), Options()),
    "paddle": (paddle(), Options(suffix="-v2")),
}


@cache
def context(job: str) -> Context:
    found = compared(converted(*JOBS[job])).matched
    assert found is not None
    return Context(found)


CASES: list[tuple[str, str, tuple[Any, ...], Any, Any, str]] = [
    ("labels", "python", ("labels", "training.kubeflow.org/replica-type"), "worker", None, OPERATOR_LABELS),
    ("labels", "python", ("labels", "jobset.sigs.k8s.io/job-key"), None, "a", JOBSET_LABELS),
    ("labels", "python", ("annotations", "batch.kubernetes.io/job-completion-index"), None, "2", JOBSET_LABELS),
    ("labels", "python", ("annotations", "volcano.sh/task-spec"), "worker", None, "v2 does not set Volcano's name of the role"),
    ("labels", "python", ("annotations", "scheduling.k8s.io/group-name"), "bert", "a", "the pod group is named after the job"),
    ("labels", "python", ("labels", "training.kubeflow.org/replica-type"), "worker", "node", ""),
    ("labels", "python", ("labels", "team"), "vision", None, ""),
    ("labels", "python", ("labels", "team"), None, "vision", ""),
    ("finalizers", "python", ("finalizers", "batch.kubernetes.io/job-tracking"), None, True,
        "the Job controller counts its pods"),
    ("finalizers", "python", ("finalizers", "example.com/mine"), None, True, ""),
    ("host_name", "python", ("spec", "subdomain"), None, "bert", "JobSet gives pods the names that v1 gave to Services"),
    ("host_name", "python", ("spec", "subdomain"), "mine", "bert", ""),
    ("init_containers", "python", ("initContainers",), ["init-pytorch"], [], INIT_CONTAINER),
    ("init_containers", "python", ("initContainers", "init-pytorch", "image"), "alpine:3.10", None, INIT_CONTAINER),
    ("init_containers", "python", ("initContainers",), ["a", "init-pytorch", "b"], ["b", "a"], ""),
    ("init_containers", "python", ("initContainers", "mine", "image"), "alpine:3.10", None, ""),
    ("pod_requests", "python", ("spec", "resources", "requests", "cpu"), "50m", None,
        "requested by the v1 operator's init container"),
    ("pod_requests", "python", ("spec", "resources", "requests", "cpu"), "50m", "40m", ""),
    ("ports", "python", (*ENV[:2], "ports", "23456/TCP"), {"name": "pytorchjob-port"}, None,
        "v1 named the port pytorchjob-port; containers of v2 may listen on any"),
    ("ports", "python", (*ENV[:2], "ports", "29500/TCP"), None, {}, "the rendezvous port of v2"),
    ("ports", "python", (*ENV[:2], "ports", "8080/TCP"), {"name": "web"}, None, ""),
    ("added_variables", "python", (*ENV, "JOB_COMPLETION_INDEX"), None, "2", "set by v2"),
    ("added_variables", "python", (*ENV, "MINE"), None, "2", ""),
    ("rendezvous_port", "python", (*ENV, "MASTER_PORT"), "23456", "29500", NEW_PORT),
    ("rendezvous_port", "python", (*ENV[:2], "program"), ["a", "<Master 0>:23456"], ["a", "<Master 0>:29500"], NEW_PORT),
    ("rendezvous_port", "python", (*ENV, "MASTER_PORT"), "23456", "29501", ""),
    ("rendezvous_port", "python", (*ENV, "MINE"), "23456", "29500", ""),
    ("own_address", "python", (*ENV, "MINE"), "<address of the pod>:23456", "<Worker 1>:29500",
        "the pod's own address, by its name"),
    ("own_address", "python", (*ENV, "MINE"), "<address of the pod>:23456", "<Worker 0>:29500", ""),
    ("job_name", "paddle", (*ENV, "PADDLE_JOB_ID"), "bert", "bert-v2", "the job has another name in v2"),
    ("job_name", "paddle", (*ENV, "PADDLE_JOB_ID"), "bert", "bert-v3", ""),
    ("job_name", "paddle", (*ENV, "MINE"), "bert", "bert-v2", ""),
    ("referenced_in_v1", "paddle", (*ENV, "POD_IP_DUMMY"), "1.2.3.4", None, "other variables of v1 referred to it"),
    ("referenced_in_v1", "paddle", (*ENV, "PADDLE_JOB_ID"), "bert", None, ""),
    ("without_torchrun", "python", (*ENV, "PET_NPROC_PER_NODE"), "auto", "1",
        "only torchrun reads it, and the program is started by python"),
    ("without_torchrun", "torchrun", (*ENV, "PET_MASTER_ADDR"), "a", "b", ""),
    ("unread_variables", "sleep", (*ENV, "RANK"), "2", None, "nothing in the container reads it"),
    ("unread_variables", "python", (*ENV, "RANK"), "2", None, ""),
    ("unread_variables", "sleep", (*ENV, "MINE"), "2", None, ""),
    ("overridden", "torchrun", (*ENV, "PET_NPROC_PER_NODE"), "auto", "1", "overridden by an option of torchrun"),
    ("overridden", "torchrun", (*ENV, "PET_NNODES"), "3:3", "3", "a range of one number"),
    ("overridden", "torchrun", (*ENV, "PET_NNODES"), "2:3", "3", ""),
    ("set_by_torchrun", "torchrun", (*ENV, "RANK"), "2", None, "torchrun sets it for its processes"),
    ("set_by_torchrun", "python", (*ENV, "RANK"), "2", None, ""),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[2][-1]}-{case[5][:20]}" for case in CASES])
def test_a_difference_is_expected_by_the_rule_for_it_or_not(case: tuple[str, str, tuple[Any, ...], Any, Any, str]) -> None:
    rule, job, place, before, after, reason = case
    of = context(job)
    found = Difference(of.matched.pairs[-1], place, before, after)
    assert expected(found, of) == reason
    if reason:
        assert [one.__name__ for one in RULES if one(found, of)] == [rule]


def test_every_rule_has_a_case() -> None:
    assert {case[0] for case in CASES if case[5]} == {rule.__name__ for rule in RULES}
