"""The view of the cluster: nodes, what is asked of them, jobs that wait."""

from __future__ import annotations

from typing import Any

import pytest

from page.views.test_job import TRAIN_JOB, V1_JOB, NoServer, train_pod, v1_pod
from shunter.api.meta import Json
from shunter.api.yaml import load_yaml
from shunter.kube.client import Client
from shunter.operator.pod_places import place
from shunter.page.views.cluster import gpus_requested_by, kept_holder, kept_node, node_row, open_cluster
from shunter.page.views.jobs import kept_job
from shunter.page.views.rank_rows import kept_pod
from shunter.page.views.view import Observed, PageOptions, Parameters, Viewer
from shunter.page.wire import ClusterSummary, JobRow, NodeRow

NODE = load_yaml("""
metadata: {name: node-a, uid: n1}
spec: {}
status:
  allocatable: {cpu: "64", memory: 256Gi, nvidia.com/gpu: "8"}
  conditions: [{type: Ready, status: "True"}, {type: DiskPressure, status: "True"}, {type: MemoryPressure, status: "False"}]
""")


def holder(pod: Json, cpu: str = "2", memory: str = "16Gi") -> Any:
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": memory, "nvidia.com/gpu": "2"}}
    return kept_holder(pod)


def test_a_node_says_what_is_asked_of_it_and_by_which_ranks() -> None:
    pods = [holder(train_pod(index)) for index in (0, 1, 2, 5)] + [holder(v1_pod("worker", 3))]
    row = node_row(kept_node(NODE), pods)
    assert (row.gpus, row.gpus_asked, row.cpu, row.cpu_asked) == (8, 10, 64, 10)
    assert (row.memory, row.memory_asked) == (256 * 2**30, 80 * 2**30)
    assert row.jobs == ("bert 0-2, 5", "bert worker 3")
    assert (row.is_ready, row.is_schedulable, row.pressure) == (True, True, ("DiskPressure",))


@pytest.mark.parametrize(
    ("job", "pod", "text"),
    [
        (TRAIN_JOB, train_pod(2), "bert 2"),
        (V1_JOB, v1_pod("master", 0), "bert master 0"),
        (V1_JOB, v1_pod("", 3), "bert worker 3"),
    ],
    ids=["v2", "v1", "v1 without its role"],
)
def test_a_node_names_a_pod_by_the_place_that_it_has_in_its_job(job: str, pod: Json, text: str) -> None:
    labels = pod["metadata"]["labels"]
    pod["metadata"]["labels"] = {label: value for label, value in labels.items() if value}
    found = place(load_yaml(job), pod)
    assert node_row(kept_node(NODE), [holder(pod)]).jobs == (text,)
    assert text in (f"bert {found.role} {found.index}", f"bert {found.index}")


def test_a_pod_asks_for_the_same_gpus_of_its_node_as_its_rank_shows() -> None:
    pod = train_pod(0)
    pod["spec"]["containers"][0]["resources"] = {"requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}}
    pod["spec"]["initContainers"] = [{"name": "check", "resources": {"limits": {"nvidia.com/gpu": "4"}}}]
    held = kept_holder(pod)
    assert held is not None
    assert held.gpus == kept_pod(pod).gpus == 4


def test_a_node_that_is_cordoned_or_not_ready_says_so() -> None:
    cordoned = kept_node({**NODE, "spec": {"unschedulable": True}})
    lost = kept_node({**NODE, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})
    assert (cordoned.is_ready, cordoned.is_schedulable, lost.is_ready) == (True, False, False)


def test_a_pod_of_no_training_job_asks_too_and_one_without_a_node_does_not() -> None:
    pod = train_pod(0)
    pod["metadata"]["labels"] = {"app": "web"}
    assert node_row(kept_node(NODE), [holder(pod)]).jobs == ()
    assert node_row(kept_node(NODE), [holder(pod)]).gpus_asked == 2
    del pod["spec"]["nodeName"]
    assert kept_holder(pod) is None


def test_jobs_that_wait_are_those_of_the_list_with_their_gpus() -> None:
    view = open_cluster(Viewer(Client(NoServer()), "ann", PageOptions("prod")), Parameters())
    waiting = load_yaml(TRAIN_JOB)
    waiting["spec"]["trainer"]["resourcesPerNode"] = {"limits": {"nvidia.com/gpu": 8}}
    running = load_yaml(V1_JOB)
    running["metadata"]["uid"] = "job-2"
    objects: dict[str, dict[str, Any]] = {watch.name: {} for watch in view.watches}
    objects["nodes"] = {"n1": kept_node(NODE)}
    objects["trainjobs"] = {"job-1": kept_job(waiting)}
    objects["pytorchjobs"] = {"job-2": kept_job(running)}
    rows = view.rows(Observed(objects, {"version": "v1.36.0"}), 0)
    assert [row.name for row in rows["waiting"] if isinstance(row, JobRow)] == ["bert"]
    (summary,) = rows["cluster"]
    assert isinstance(summary, ClusterSummary)
    assert (summary.waiting_jobs, summary.waiting_gpus, summary.nodes, summary.ready) == (1, 24, 1, 1)
    assert not summary.is_waiting_more
    assert summary.version == "v1.36.0"
    assert [row.name for row in rows["nodes"] if isinstance(row, NodeRow)] == ["node-a"]


def rows_for(*refused: str) -> tuple[ClusterSummary, list[NodeRow]]:
    """What a viewer sees of a node with a pod who may not list these in all namespaces."""
    view = open_cluster(Viewer(Client(NoServer()), "ann", PageOptions("prod")), Parameters())
    objects: dict[str, dict[str, Any]] = {watch.name: {} for watch in view.watches}
    if "nodes" not in refused:
        objects["nodes"] = {"n1": kept_node(NODE)}
    objects["holders"] = {"p1": holder(train_pod(0))}
    rows = view.rows(Observed(objects, {}, frozenset(refused)), 0)
    (summary,) = rows["cluster"]
    assert isinstance(summary, ClusterSummary)
    return summary, [row for row in rows["nodes"] if isinstance(row, NodeRow)]


def test_what_is_asked_of_nodes_is_unknown_where_pods_may_not_be_read_in_all_namespaces() -> None:
    summary, (node,) = rows_for("holders")
    assert (node.gpus_asked, node.cpu_asked, node.memory_asked, node.jobs) == (None, None, None, ())
    assert (summary.nodes, summary.ready, summary.gpus, summary.gpus_asked) == (1, 1, 8, None)
    summary, (node,) = rows_for()
    assert (node.gpus_asked, summary.gpus_asked) == (2, 2)


def test_how_many_nodes_there_are_is_unknown_where_they_may_not_be_read() -> None:
    summary, nodes = rows_for("nodes")
    assert (summary.nodes, summary.ready, summary.gpus, summary.gpus_asked, nodes) == (None, None, None, None, [])


def test_what_a_job_asks_for_is_counted_over_all_ranks_that_run_at_a_time() -> None:
    template = {"spec": {"containers": [{"resources": {"limits": {"amd.com/gpu": "4"}}}]}}
    v1 = load_yaml(V1_JOB)
    for role in v1["spec"]["pytorchReplicaSpecs"].values():
        role["template"] = template
    assert (gpus_requested_by(v1), gpus_requested_by(load_yaml(TRAIN_JOB))) == (12, None)
    for completions, parallelism, asked in ((2, 2, 8), (100, 2, 8), (2, 100, 8), (None, 3, 12), (2, None, 4)):
        spec = {"completions": completions, "parallelism": parallelism, "template": template}
        native = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": spec}
        assert gpus_requested_by(native) == asked
