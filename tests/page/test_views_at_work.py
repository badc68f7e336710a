"""Views and actions over the page's server, on a cluster whose pods are simulated: what is asked of the API server is real."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from page.server import OWN, Answer, RunningPage, page_of, rows_of, running

pytestmark = pytest.mark.integration

Json = dict[str, Any]
Rows = dict[str, dict[str, Any]]


def train_job(namespace: str, name: str, nodes: int = 3) -> Json:
    trainer = {"numNodes": nodes, "image": "train:1", "env": [{"name": "HF_TOKEN", "value": "hf_abcdefghijk"}]}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer},
    }


def v1_job(namespace: str, name: str) -> Json:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "train:1", "command": ["python", "train.py"]}]}}
    role = {"replicas": 1, "restartPolicy": "Never", "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": {"Master": role, "Worker": role}},
    }


class Tab:
    """What one tab of a browser does."""

    def __init__(self, page: RunningPage, namespace: str) -> None:
        self.page = page
        self.namespace = namespace
        self.cookie = page.cookie()

    def rows(self, until: Callable[[Rows], Any], **query: str) -> Rows:
        with self.page.stream(f"/api/live?{urllib.parse.urlencode(query)}", self.cookie) as stream:
            return rows_of(stream, until)

    def job(self, kind: str, name: str, until: Callable[[Json], Any]) -> Json:
        """The head of the job's view, once it is so."""
        query = {"view": "job", "namespace": self.namespace, "kind": kind, "name": name}
        found = self.rows(lambda rows: [row for row in rows.get("job", {}).values() if until(row)], **query)
        return next(dict(row) for row in found["job"].values() if until(row))

    def is_gone(self, kind: str, name: str) -> None:
        query = {"view": "job", "namespace": self.namespace, "kind": kind, "name": name}
        self.rows(lambda rows: "job" in rows and not rows["job"], **query)

    def act(self, action: str, job: Mapping[str, Any], **changes: Any) -> Answer:
        """As the page's scripts send it, about the job as it was seen."""
        fields = ("kind", "namespace", "name", "uid", "resourceVersion", "generation", "state")
        body = {field: job[field] for field in fields if field in job} | changes
        return self.page.ask("POST", f"/api/actions/{action}", body=json.dumps(body).encode(), headers={**self.cookie, **OWN})

    def act_as_shown(self, action: str, kind: str, name: str, until: Callable[[Json], Any] = bool) -> Answer:
        """About the job as it is by now; its status goes on changing."""
        return self.act(action, self.job(kind, name, lambda job: until(job) and action in named(job)))

    def get(self, path: str) -> Answer:
        return self.page.ask("GET", path, headers=self.cookie)


def named(job: Json) -> list[str]:
    return [action["name"] for action in job.get("actions", ())]


@pytest.fixture
def tab(page: RunningPage, page_namespace: str) -> Tab:
    return Tab(page, page_namespace)


def test_a_train_job_is_seen_suspended_resumed_run_again_and_deleted(
    page_cluster: EmbeddedCluster, page_namespace: str, tab: Tab
) -> None:
    page_cluster.apply(train_job(page_namespace, "bert"))
    seen = tab.job("TrainJob", "bert", lambda job: job.get("up") == 3 and job["state"] == "Running" and named(job))
    assert named(seen) == ["suspend", "rerun", "delete"]
    assert (seen["state"], seen["wanted"]) == ("Running", 3)
    assert dict(seen["facts"])["Runtime"] == "torch-distributed (ClusterTrainingRuntime)"

    assert tab.act_as_shown("suspend", "TrainJob", "bert").status == 200
    suspended = tab.job("TrainJob", "bert", lambda job: job["state"] == "Suspended" and job.get("up") == 0 and named(job))
    assert named(suspended) == ["resume", "rerun", "delete"]
    late = tab.act("delete", seen)
    assert (late.status, late.json["message"]) == (409, f"TrainJob {page_namespace}/bert has changed since it was shown.")
    assert tab.act("suspend", suspended).status in (400, 409)
    assert tab.act_as_shown("resume", "TrainJob", "bert").status == 200
    tab.job("TrainJob", "bert", lambda job: job["state"] == "Running" and job.get("up") == 3)

    running = tab.job("TrainJob", "bert", lambda job: job["state"] == "Running" and named(job))
    assert tab.act("rerun", running, resourceVersion="1", generation=running["generation"] + 1).status == 409
    answer = tab.act("rerun", running, resourceVersion="1")  # As after many reports of its progress.
    assert (answer.status, answer.json["url"]) == (200, f"/jobs/{page_namespace}/TrainJob/bert-2")
    made = tab.job("TrainJob", "bert-2", lambda job: job.get("up") == 3)
    assert made["uid"] != seen["uid"]
    assert tab.act_as_shown("delete", "TrainJob", "bert").status == 200
    tab.is_gone("TrainJob", "bert")


def test_a_job_that_was_made_again_under_its_name_is_not_touched(
    page_cluster: EmbeddedCluster, page_namespace: str, tab: Tab
) -> None:
    page_cluster.apply(v1_job(page_namespace, "bert"))
    seen = tab.job("PyTorchJob", "bert", named)
    page_cluster.kubectl("delete", "pytorchjob", "bert", "-n", page_namespace)
    page_cluster.apply(v1_job(page_namespace, "bert"))
    remade = tab.job("PyTorchJob", "bert", lambda job: job["uid"] != seen["uid"] and named(job))
    for action in ("suspend", "rerun", "delete"):
        answer = tab.act(action, remade, uid=seen["uid"])
        assert (answer.status, "another job of this name" in answer.json["message"]) == (409, True)
    assert (
        json.loads(page_cluster.kubectl("get", "pytorchjobs", "-n", page_namespace, "-o", "json"))["items"][0]["metadata"]["uid"]
        == remade["uid"]
    )


BAD = ["..", "a/b", "a%2fb", "%2e%2e", "a?b", "a\r\nb", "", "A"]


@pytest.mark.parametrize("text", BAD, ids=repr)
def test_what_is_no_name_is_refused_everywhere(text: str, tab: Tab) -> None:
    job = {"kind": "TrainJob", "namespace": "vision", "name": "bert", "uid": "u", "resourceVersion": "1"}
    for field in ("kind", "namespace", "name"):
        assert tab.act("delete", job, **{field: text}).status == 400
    quoted = urllib.parse.quote(text, safe="")
    for path in (f"/api/yaml/{quoted}/TrainJob/bert", f"/api/yaml/vision/TrainJob/{quoted}", f"/api/logs/vision/{quoted}/bert"):
        assert tab.get(path).status in (400, 404)
    assert tab.get(f"/api/live?view=job&namespace={quoted}&kind=TrainJob&name=bert").status == 400


def test_the_yaml_of_a_job_and_its_pods_hides_credentials_until_they_are_asked_for(
    page_cluster: EmbeddedCluster, page_namespace: str, tab: Tab
) -> None:
    page_cluster.apply(train_job(page_namespace, "bert", 1), v1_job(page_namespace, "other"))
    tab.job("TrainJob", "bert", lambda job: job.get("up") == 1)
    text = tab.get(f"/api/yaml/{page_namespace}/TrainJob/bert").body
    assert b"hf_abcdefghijk" not in text
    assert b"numNodes: 1" in text
    assert b"hf_abcdefghijk" in tab.get(f"/api/yaml/{page_namespace}/TrainJob/bert?reveal=true").body
    pods = json.loads(page_cluster.kubectl("get", "pods", "-n", page_namespace, "-o", "json"))["items"]
    names = {name.startswith("bert"): name for name in (pod["metadata"]["name"] for pod in pods)}
    assert tab.get(f"/api/yaml/{page_namespace}/TrainJob/bert/pods/{names[True]}").body.count(b"kind: Pod") == 1
    assert tab.get(f"/api/yaml/{page_namespace}/PyTorchJob/other/pods/{names[True]}").status == 400, "not a pod of this job"
    assert tab.get(f"/api/yaml/{page_namespace}/TrainJob/none").status == 404


def test_a_page_that_only_reads_offers_nothing_and_does_nothing(page_cluster: EmbeddedCluster, page_namespace: str) -> None:
    page_cluster.apply(train_job(page_namespace, "bert", 1))
    with running(page_of(page_cluster, is_read_only=True)) as page:
        tab = Tab(page, page_namespace)
        seen = tab.job("TrainJob", "bert", lambda job: job.get("up") == 1)
        assert named(seen) == []
        assert tab.act("delete", seen).status == 403
        tab.job("TrainJob", "bert", lambda job: job["state"] == "Running")


def test_v1_jobs_stand_in_the_inventory_with_the_page_of_their_migration(
    page_cluster: EmbeddedCluster, page_namespace: str, tab: Tab
) -> None:
    page_cluster.apply(v1_job(page_namespace, "bert"))
    rows = tab.rows(
        lambda rows: [
            move for move in rows.get("moves", {}).values() if move["namespace"] == page_namespace and move.get("proof")
        ],
        view="migration",
        namespace=page_namespace,
    )
    (move,) = rows["moves"].values()
    assert (move["state"], move["name"]) == ("ready", "bert")
    (summary,) = rows["migration"].values()
    assert (summary["v1Left"], summary["v1Total"]) == (1, 1)
    page = tab.get(f"/api/migration/{page_namespace}/PyTorchJob/bert").json
    assert "pytorchReplicaSpecs" in page["before"]
    assert "kind: TrainJob" in page["after"]
    assert {stage["name"]: stage["status"] for stage in page["proof"]}["pods"] == "holds"
    assert [pair["rank"] for pair in page["pods"]] == ["Master 0", "Worker 0"]
    assert {finding["id"]: finding["message"] for finding in page["findings"]} == {
        "TORCH003": "The runtime sets MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE for `python train.py`, as v1 does.",
        "SUSPEND002": f"PyTorchJob {page_namespace}/bert was read from a cluster: the TrainJob is suspended.",
        "TORCH017": "The job is complete when its Master is, by the Job's successPolicy.",
    }
    assert tab.get(f"/api/migration/{page_namespace}/TrainJob/bert").status == 400
    assert tab.get(f"/api/migration/{page_namespace}/PyTorchJob/none").status == 404


def test_the_cluster_has_its_nodes_with_their_jobs_and_its_operator(
    page_cluster: EmbeddedCluster, page_namespace: str, tab: Tab
) -> None:
    page_cluster.apply(train_job(page_namespace, "bert", 2))

    def is_shown(rows: Rows) -> bool:
        jobs = [job for node in rows.get("nodes", {}).values() for job in node.get("jobs", ())]
        return "bert 0-1" in jobs or "bert 0, 1" in jobs

    rows = tab.rows(lambda rows: is_shown(rows) and next(iter(rows["cluster"].values())).get("operator"), view="cluster")
    (summary,) = rows["cluster"].values()
    assert (summary["nodes"], summary["ready"]) == (1, 1)
    assert summary["version"].startswith("v1.")
    assert summary["operator"] == "a process of the embedded cluster; webhooks registered"


def test_a_plan_is_followed_from_ready_to_compared(page_cluster: EmbeddedCluster, page_namespace: str, tmp_path: Path) -> None:
    waiting = v1_job(page_namespace, "bert")
    waiting["spec"]["runPolicy"] = {"suspend": True}
    page_cluster.apply(waiting)
    plan = tmp_path / "plan.yaml"
    planned = page_cluster.shunter("migrate", "plan", "-n", page_namespace)
    assert planned.returncode == 0, planned.stderr
    plan.write_text(planned.stdout)
    with running(page_of(page_cluster, plan=plan)) as page:
        tab = Tab(page, page_namespace)

        def move(*states: str) -> Json:
            rows = tab.rows(
                lambda rows: [one for one in rows.get("moves", {}).values() if one["state"] in states],
                view="migration",
                namespace=page_namespace,
            )
            assert [wave["total"] for wave in rows["waves"].values()] == [1]
            (summary,) = rows["migration"].values()
            assert summary["plan"] == "plan.yaml"
            (found,) = rows["moves"].values()
            return dict(found)

        assert move("ready")["next"] == "apply"
        applied = page_cluster.shunter("migrate", "apply", "--plan", str(plan), "--yes")
        assert applied.returncode == 0, applied.stderr
        train_job = move("made", "running")["twin"].partition(" ")[0]
        marked = ("annotate", "trainjob", train_job, "-n", page_namespace, "migrate.shunter.dev/compared=equal")
        page_cluster.kubectl(*marked)
        assert move("compared")["twin"].startswith(train_job)
        detail = tab.get(f"/api/migration/{page_namespace}/PyTorchJob/bert").json
        assert (detail["move"]["state"], detail["move"]["wave"]) == ("compared", 1)
        assert detail["move"] == move("compared")
        plan.write_text("format: 9\n")
        rows = tab.rows(
            lambda rows: [one for one in rows.get("migration", {}).values() if one.get("plan", "").startswith("plan.yaml: ")],
            view="migration",
            namespace=page_namespace,
        )
        assert rows["moves"], "the inventory is shown instead"
