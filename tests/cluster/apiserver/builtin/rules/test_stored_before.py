"""Objects that were stored before there was a rule can be changed, and none may be made worse."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver import builtin

Write = Callable[..., Any]
KINDS = {kind.resource.kind: kind for kind in builtin.kinds()}
ENDPOINTS: Json = {
    "metadata": {"name": "a"},
    "subsets": [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": 80, "protocol": "TCP"}]}],
}
VOLUME: Json = {
    "metadata": {"name": "a", "finalizers": ["kubernetes.io/pv-protection"]},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "local": {"path": "/a"},
    },
}


@pytest.mark.parametrize(("kind", "stored"), [("Endpoints", ENDPOINTS), ("PersistentVolume", VOLUME)])
def test_an_object_that_was_stored_before_a_rule_can_be_changed(kind: str, stored: Json) -> None:
    assert KINDS[kind].rule_errors(stored, None)
    changed = {**stored, "metadata": {"name": "a", "labels": {"team": "b"}}}
    assert KINDS[kind].rule_errors(changed, stored) == []


def test_but_not_be_made_worse() -> None:
    worse = {**VOLUME, "spec": {**VOLUME["spec"], "storageClassName": "A b"}}
    assert [error.field for error in KINDS["PersistentVolume"].rule_errors(worse, VOLUME)] == ["spec.storageClassName"]


SIGNAL: Json = {"containers": [{"name": "c", "image": "a", "lifecycle": {"stopSignal": "SIGUSR1"}}], "os": {"name": "linux"}}
GATED_POD_FIELDS = [
    SIGNAL,
    {"containers": [{"name": "c", "image": "a"}], "schedulingGroup": {"podGroupName": "g"}},
    {
        "containers": [{"name": "c", "image": "a"}],
        "volumes": [{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {"name": "a", "path": "x"}}]}}],
    },
    {
        "containers": [{"name": "c", "image": "a"}],
        "volumes": [{"name": "v", "projected": {"sources": [{"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519"}}]}}],
    },
]
TEMPLATE: Json = {"metadata": {"labels": {"a": "b"}}, "spec": {**SIGNAL, "restartPolicy": "Never"}}
LASTING: Json = {**TEMPLATE, "spec": SIGNAL}
SELECTED: Json = {"selector": {"matchLabels": {"a": "b"}}, "template": LASTING}
CLAIM_SPEC = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "s",
    "resources": {"requests": {"storage": "1Gi"}},
    "dataSourceRef": {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": "x", "namespace": "other"},
}
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2, "partition": 0}}


def gated_objects() -> list[tuple[str, str, Json]]:
    """Objects of each kind that has fields of features that are off, with such a field."""
    return [
        *(("v1", "Pod", {"spec": {"restartPolicy": "Never", **spec}}) for spec in GATED_POD_FIELDS),
        ("v1", "PodTemplate", {"template": LASTING}),
        ("v1", "ReplicationController", {"spec": {"selector": {"a": "b"}, "template": LASTING}}),
        ("batch/v1", "Job", {"spec": {"suspend": True, "template": TEMPLATE}}),
        ("batch/v1", "CronJob", {"spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": TEMPLATE}}}}),
        *(("apps/v1", kind, {"spec": SELECTED}) for kind in ("Deployment", "ReplicaSet", "DaemonSet")),
        ("apps/v1", "StatefulSet", {"spec": {**SELECTED, "serviceName": "s", "updateStrategy": ROLLING}}),
        ("v1", "PersistentVolumeClaim", {"spec": CLAIM_SPEC}),
        ("storage.k8s.io/v1", "CSIDriver", {"spec": {"preventPodSchedulingIfMissing": True}}),
        ("coordination.k8s.io/v1", "Lease", {"spec": {"strategy": "OldestEmulationVersion", "preferredHolder": "a"}}),
        ("v1", "Node", {"spec": {"configSource": {"configMap": {"name": "x", "namespace": "y", "kubeletConfigKey": "z"}}}}),
    ]


def stored_with(write: Write, document: Json) -> Json:
    """The object as a server stores it whose features are on: what is dropped of a new one is in it."""
    made: Json = write(document).object
    assert made is not None, write(document).message

    def completed(stored: Any, sent: Any) -> Any:
        if isinstance(sent, dict):
            before = stored if isinstance(stored, dict) else {}
            return {**before, **{name: completed(before.get(name), value) for name, value in sent.items()}}
        if isinstance(sent, list) and sent and isinstance(sent[0], dict):
            return [completed(was, one) for was, one in zip(stored, sent, strict=True)]
        return sent

    found: Json = completed(made, document)
    return found


@pytest.mark.parametrize(("api_version", "kind", "document"), gated_objects())
def test_a_field_whose_feature_is_off_is_dropped_only_where_the_stored_object_does_not_use_it(
    write: Write, api_version: str, kind: str, document: Json
) -> None:
    document = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **document}
    stored = stored_with(write, document)
    plain = write(document).object
    assert plain != stored, "the field is dropped from a new object"
    labelled = {**stored, "metadata": {**stored["metadata"], "labels": {"team": "b"}}}
    before = copy.deepcopy(stored)
    answer = write(labelled, stored)
    assert (answer.code, answer.message) == (200, "")
    assert stored == before, "what is stored is not altered"
    for part in ("spec", "template"):
        assert answer.object.get(part) == stored.get(part), "and nothing else is either"
    KINDS[kind].default({**stored})  # what a write of the status does with it
    assert stored == before


def test_a_suspended_job_that_was_stored_with_a_stop_signal_can_be_resumed(write: Write) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"suspend": True, "template": TEMPLATE}}
    stored = {**stored_with(write, job), "status": {}}
    answer = write({**stored, "spec": {**stored["spec"], "suspend": False}}, stored)
    assert (answer.code, answer.message) == (200, "")


def test_a_field_whose_feature_is_off_does_not_come_with_an_update(write: Write) -> None:
    node = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    old = write(
        {**node, "spec": {**SELECTED, "template": {**LASTING, "spec": {"containers": [{"name": "c", "image": "a"}]}}}}
    ).object
    answer = write({**old, "spec": {**old["spec"], "template": LASTING}}, old)
    assert "lifecycle" not in answer.object["spec"]["template"]["spec"]["containers"][0]
