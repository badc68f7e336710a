"""Objects that were stored before there was a rule can be changed, and none may be made worse."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.cluster.apiserver import builtin

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
