"""What the page's server tells of jobs that run: why one failed, its log, its curve; and what its actions do."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.running_cluster import Cluster
from page.server import RunningPage, page_of, running
from page.test_views_at_work import Tab

Json = dict[str, Any]

STEPS = """
import time
for step in range(1, 9999):
    print(f"step {step}/9999 loss {1 / step:.4f}", flush=True)
    time.sleep(0.2)
"""
FAILS_ON_RANK_2 = """
import os, sys, time
for step in range(1, 6):
    print(f"step {step}/100 loss {1 / step:.4f}", flush=True)
    time.sleep(0.2)
if os.environ["RANK"] == "2":
    print("\\x1b[31mabout to fail\\x1b[0m <img src=x onerror=alert(1)>", flush=True)
    raise ValueError("no data in shard 7")
time.sleep(60)
"""


def pytorch_job(namespace: str, name: str, program: str) -> Json:
    container = {"name": "pytorch", "image": "any:1", "command": ["python", "-c", program]}
    template = {"spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}
    roles = {"Master": 1, "Worker": 2}
    replicas = {role: {"replicas": count, "restartPolicy": "Never", "template": template} for role, count in roles.items()}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"runPolicy": {"backoffLimit": 0, "cleanPodPolicy": "None"}, "pytorchReplicaSpecs": replicas},
    }


@pytest.fixture
def page(cluster: Cluster) -> Iterator[RunningPage]:
    with running(page_of(cluster)) as found:
        yield found


def lines(tab: Tab, name: str, **query: str) -> list[Any]:
    """Rank, label, time and text of the lines of a job's log."""
    path = f"/api/logs/{tab.namespace}/PyTorchJob/{name}?{urllib.parse.urlencode(query)}"
    with tab.page.stream(path, tab.cookie) as stream:
        return [line for event, data in stream if event == "lines" for line in data["lines"]]


def test_a_job_that_fails_on_one_rank_is_understood_and_run_again(cluster: Cluster, namespace: str, page: RunningPage) -> None:
    tab = Tab(page, namespace)
    cluster.apply(pytorch_job(namespace, "bert", FAILS_ON_RANK_2))

    listed = tab.rows(
        lambda rows: [
            row
            for row in rows.get("jobs", {}).values()
            if row.get("why") and row.get("progress", {}).get("position", "").startswith("step 5/")
        ],
        view="jobs",
        namespace=namespace,
    )
    (row,) = listed["jobs"].values()
    assert "rank 2" in row["why"]
    assert (row["progress"]["position"].endswith("/100"), row["progress"]["source"]) == (True, "log"), "how far it came"

    def is_understood(rows: dict[str, dict[str, Any]]) -> bool:
        heads = [head for head in rows.get("job", {}).values() if head["state"] == "Failed"]
        return bool(heads and "no data in shard 7" in heads[0].get("why", "") and rows["verdicts"])

    shown = tab.rows(is_understood, view="job", namespace=namespace, kind="PyTorchJob", name="bert")
    (head,) = shown["job"].values()
    assert (head["wanted"], head["failures"]) == (3, 1)
    assert head["why"] == "rank 2, worker-1: exit code 1: ValueError: no data in shard 7"
    verdict = next(iter(shown["verdicts"].values()))
    assert verdict["ranks"] == [2]
    assert any("no data in shard 7" in line["text"] for line in verdict["evidence"])
    failures = [entry for entry in shown["timeline"].values() if entry.get("rank") == 2]
    assert [entry["tone"] for entry in failures] == ["bad"]
    assert {cell["rank"]: cell["state"] for cell in shown["ranks"].values()}[2] == "Failed"
    assert [action["name"] for action in head["actions"]] == ["rerun", "delete"]

    found = lines(tab, "bert", find="NO DATA in shard")
    assert {(line[0], line[3]) for line in found} == {(2, "ValueError: no data in shard 7")}
    colours = lines(tab, "bert", ranks="2", find="about to fail")
    assert [line[3] for line in colours] == ["about to fail <img src=x onerror=alert(1)>"]
    file = tab.get(f"/api/logs/{namespace}/PyTorchJob/bert.txt?ranks=2")
    assert file.headers["content-disposition"].startswith("attachment")
    assert b"ValueError: no data in shard 7" in file.body
    text = tab.get(f"/api/yaml/{namespace}/PyTorchJob/bert").body.decode()
    assert "pytorchReplicaSpecs" in text
    assert "managedFields:" not in text

    again = tab.act_as_shown("rerun", "PyTorchJob", "bert")
    assert (again.status, again.json["url"]) == (200, f"/jobs/{namespace}/PyTorchJob/bert-2")
    assert tab.job("PyTorchJob", "bert-2", lambda job: job["state"] == "Failed")["failures"] == 1
    assert tab.act_as_shown("delete", "PyTorchJob", "bert").status == 200
    tab.is_gone("PyTorchJob", "bert")


def test_a_job_that_trains_has_a_curve_and_a_log_that_goes_on(cluster: Cluster, namespace: str, page: RunningPage) -> None:
    tab = Tab(page, namespace)
    cluster.apply(pytorch_job(namespace, "steady", STEPS))
    query = {"view": "job", "namespace": namespace, "kind": "PyTorchJob", "name": "steady"}
    shown = tab.rows(lambda rows: rows.get("series") and [row for row in rows["job"].values() if row.get("progress")], **query)
    (head,) = shown["job"].values()
    assert (head["progress"]["source"], head["progress"]["position"].endswith("/9999")) == ("log", True)
    curve = next(iter(shown["series"].values()))
    assert (curve["name"], curve["source"]) == ("loss", "log")
    assert curve["points"][0] == [1.0, 1.0]

    path = f"/api/logs/{namespace}/PyTorchJob/steady?ranks=1&follow=true"
    seen: list[int] = []
    with page.stream(path, tab.cookie) as stream:
        for event, data in stream:
            if event == "lines":
                assert {line[0] for line in data["lines"]} <= {1}
                seen += [int(line[3].split()[1].partition("/")[0]) for line in data["lines"]]
            if len(seen) >= 30:
                break
    assert seen == list(range(1, len(seen) + 1))
    assert tab.act_as_shown("suspend", "PyTorchJob", "steady").status == 200
    tab.job("PyTorchJob", "steady", lambda job: job["state"] == "Suspended")
