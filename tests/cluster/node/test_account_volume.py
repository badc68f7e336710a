"""Who gets a token of its service account without asking for it."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.cluster.node.account_volume import PATH, VOLUME, with_account
from shunter.cluster.node.assigned_pod import AssignedPod

OWN_MOUNT = {"name": "kube-api-access-x7f2q", "mountPath": PATH}


def pod(spec: Json) -> AssignedPod:
    containers = [{"name": "main"}, {"name": "side", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]
    return msgspec.convert({"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}, AssignedPod)


def test_every_container_of_a_pod_that_names_an_account_finds_its_token() -> None:
    spec = with_account(pod({"serviceAccountName": "runner", "initContainers": [{"name": "first"}]})).spec
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["volumeMounts"][-1] == {"name": VOLUME, "mountPath": PATH, "readOnly": True}
    assert [volume["name"] for volume in spec["volumes"]] == [VOLUME]
    assert spec["containers"][1]["volumeMounts"][0]["name"] == "data"


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="no account is named"),
        pytest.param({"serviceAccountName": "default"}, id="the default account is named"),
        pytest.param({"serviceAccountName": "runner", "automountServiceAccountToken": False}, id="no token is wanted"),
        pytest.param(
            {"serviceAccountName": "runner", "containers": [{"name": "main", "volumeMounts": [OWN_MOUNT]}]},
            id="the API server has added one",
        ),
    ],
)
def test_other_pods_stay_as_they_are(spec: Json) -> None:
    assert with_account(pod(spec)) == pod(spec)
