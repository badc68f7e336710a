from __future__ import annotations

import pytest

from shunter.migrate.pods.hosts import Hosts

V1 = Hosts({"bert-master-0": "<Master 0>", "bert-worker-1": "<Worker 1>", "bert-worker-10": "<Worker 10>"}, "team")
V2 = Hosts({"bert-node-0-0.bert": "<Master 0>", "bert-node-0-1.bert": "<Worker 1>"}, "team")


@pytest.mark.parametrize(
    ("hosts", "text", "marked"),
    [
        pytest.param(V1, "bert-master-0", "<Master 0>", id="short"),
        pytest.param(V1, "tcp://bert-master-0:23456", "tcp://<Master 0>:23456", id="in-an-address"),
        pytest.param(V1, "bert-worker-1.team.svc:2222", "<Worker 1>:2222", id="with-namespace"),
        pytest.param(V1, "bert-worker-1.team.svc.cluster.local", "<Worker 1>", id="with-domain"),
        pytest.param(V1, "bert-worker-1.other.svc", "bert-worker-1.other.svc", id="of-another-namespace"),
        pytest.param(V1, "bert-worker-10,bert-worker-1", "<Worker 10>,<Worker 1>", id="one-name-begins-another"),
        pytest.param(V1, "bert-worker-1-0.bert", "bert-worker-1-0.bert", id="a-name-of-v2-that-begins-like-it"),
        pytest.param(V1, "my-bert-master-0", "my-bert-master-0", id="as-the-end-of-another-name"),
        pytest.param(V2, "bert-node-0-1.bert:29500", "<Worker 1>:29500", id="of-v2"),
        pytest.param(V2, "bert-node-0-1", "bert-node-0-1", id="of-v2-without-its-domain-nobody-is-reached"),
        pytest.param(V2, "bert-node-0-1.bert.team.svc.cluster.local", "<Worker 1>", id="of-v2-in-full"),
        pytest.param(V2, "bert-master-0", "bert-master-0", id="v1-s-name-means-nothing-in-v2"),
    ],
)
def test_names_of_pods_are_marked(hosts: Hosts, text: str, marked: str) -> None:
    assert hosts.marked(text) == marked


def test_names_are_marked_wherever_they_stand_in_a_value() -> None:
    assert V1.marked({"worker": ["bert-worker-1:2222"], "index": 1}) == {"worker": ["<Worker 1>:2222"], "index": 1}
    assert V1.marked({"bert-worker-1": 8}) == {"<Worker 1>": 8}


def test_a_job_without_pods_has_no_names() -> None:
    assert Hosts({}, "team").marked("anything") == "anything"
