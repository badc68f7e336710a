"""Whether the launcher of a TrainJob with MPI is one of its nodes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shunter.api.meta import Json
from shunter.doctor.launcher import has_launcher, host_file_name, hosts_in, launcher_trains

JOB: Json = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "bert", "namespace": "team", "uid": "u"},
    "spec": {"trainer": {"numNodes": 3}},
}


def jobset(**pods: int) -> Json:
    """One with groups of so many pods."""
    groups = [{"name": name, "replicas": 1, "template": {"spec": {"parallelism": count}}} for name, count in pods.items()]
    return {"metadata": {"name": "bert", "namespace": "team"}, "spec": {"replicatedJobs": groups}}


def host_file(text: str | None, name: str = "bert-mpi-hostfile") -> Json:
    return {"kind": "ConfigMap", "metadata": {"name": name}, "data": None if text is None else {"hostfile": text}}


def job(nodes: int | None) -> Json:
    return {**JOB, "spec": {} if nodes is None else {"trainer": {"numNodes": nodes}}}


def test_the_hostfile_lists_the_nodes_without_domain_and_slots() -> None:
    assert host_file_name(JOB) == "bert-mpi-hostfile"
    text = "bert-node-0-0.bert slots=8\n\nbert-node-0-1.bert slots=8\nbert-node-0-2\n"
    assert hosts_in(JOB, [host_file("x", "other"), host_file(text)]) == ("bert-node-0-0", "bert-node-0-1", "bert-node-0-2")


@pytest.mark.parametrize(
    ("children", "hosts"),
    [([], None), ([host_file("a", "other")], None), ([host_file("")], ()), ([host_file(None)], ())],
    ids=["was not read", "of another job", "is empty", "has no data"],
)
def test_a_hostfile_that_was_not_read_is_told_from_an_empty_one(children: list[Json], hosts: Sequence[str] | None) -> None:
    assert hosts_in(JOB, children) == hosts


def test_a_job_without_mpi_has_no_launcher() -> None:
    assert not has_launcher(JOB, (), jobset(node=3))
    assert not has_launcher(JOB, (), None)
    assert not has_launcher({**JOB, "kind": "MPIJob"}, (), jobset(launcher=1, node=3))
    assert launcher_trains(JOB, (), jobset(node=3), ("bert-launcher-0-0",)) is False


@pytest.mark.parametrize(
    ("hosts", "trains"),
    [(("bert-launcher-0-0", "bert-node-0-0"), True), (("bert-node-0-0",), False), ((), False)],
)
def test_the_hostfile_decides_where_it_was_read(hosts: Sequence[str], trains: bool) -> None:
    assert launcher_trains(JOB, (), jobset(launcher=1, node=2), hosts) is trains


@pytest.mark.parametrize(
    ("nodes", "beside", "trains"),
    [(3, 3, False), (3, 2, True), (2, 1, True), (2, 2, False), (1, 1, None), (3, 5, None), (None, 1, None), (1, 0, True)],
)
def test_else_the_number_of_other_pods_may_show_it(nodes: int | None, beside: int, trains: bool | None) -> None:
    """Where the launcher is a node one pod less is made, but at least one: of one node nothing is known."""
    pods = {"launcher": 1, **({"node": beside} if beside else {})}
    assert launcher_trains(job(nodes), (), jobset(**pods), None) is trains
