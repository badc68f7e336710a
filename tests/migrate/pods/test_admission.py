"""Objects are asked about as the embedded API server would be, without one."""

from __future__ import annotations

import copy

import pytest

from migrate.proof.jobs import converted, pytorch
from shunter.api.meta import Json
from shunter.migrate.pods.admission import PriorityClasses, RefusedError, admitted, cel_errors, rule_errors, unknown_fields

POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "bert-node-0-0-", "namespace": "team"},
    "spec": {
        "priorityClassName": "high",
        "containers": [{"name": "node", "image": "train", "env": [{"name": "A", "value": ""}]}],
    },
}


def test_a_pod_gets_what_the_server_gives_it() -> None:
    given = copy.deepcopy(POD)
    stored = admitted(given)
    assert given == POD
    assert stored["metadata"]["name"] == "bert-node-0-0-xxxxx"
    container = stored["spec"]["containers"][0]
    assert (container["imagePullPolicy"], container["env"], stored["spec"]["dnsPolicy"]) == (
        "Always",
        [{"name": "A"}],
        "ClusterFirst",
    )
    assert rule_errors(stored) == []


def test_the_same_object_has_the_same_uid() -> None:
    assert admitted(POD)["metadata"]["uid"] == admitted(POD)["metadata"]["uid"]
    assert admitted(POD)["metadata"]["uid"] != admitted({**POD, "metadata": {"name": "other"}})["metadata"]["uid"]


def test_a_priority_class_that_is_known_counts() -> None:
    known = PriorityClasses([{"metadata": {"name": "high"}, "value": 7}])
    assert (admitted(POD)["spec"]["priority"], admitted(POD, known)["spec"]["priority"]) == (0, 7)


def test_what_cannot_be_decoded_is_refused() -> None:
    broken = {**POD, "spec": {"containers": "none"}}
    with pytest.raises(RefusedError, match="Pod bert-node-0-0- is rejected"):
        admitted(broken)


def test_fields_that_nobody_knows_are_found() -> None:
    train_job = copy.deepcopy(converted(pytorch(1)).train_job)
    train_job["spec"]["template"] = {}
    assert unknown_fields(train_job) == ["spec.template"]


def test_rules_of_a_definition_are_asked() -> None:
    train_job = copy.deepcopy(converted(pytorch(1)).train_job)
    train_job["metadata"]["name"] = "1bert"
    assert ["metadata.name must match RFC 1035" in str(error) for error in cel_errors(admitted(train_job))] == [True]
