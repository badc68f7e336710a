"""What is a pod's own in a StatefulSet."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.apps import StatefulSet
from shunter.api.core import Pod
from shunter.api.meta import Json, ObjectMeta
from shunter.api.resources import STATEFUL_SETS
from shunter.cluster.controllers.statefulset.identity import claims_of, ordinal, ordinals, pod_with_identity
from shunter.cluster.controllers.workloads.claiming import Owner

CLAIM: Json = {"metadata": {"name": "data", "labels": {"app": "other", "tier": "db"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}
TEMPLATE: Json = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {
        "hostname": "own",
        "containers": [{"name": "c", "image": "x:1"}],
        "volumes": [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}],
    },
}
SET = msgspec.convert(
    {
        "metadata": {"name": "db", "namespace": "n", "uid": "u"},
        "spec": {
            "replicas": 2,
            "serviceName": "peers",
            "ordinals": {"start": 5},
            "selector": {"matchLabels": {"app": "x"}},
            "volumeClaimTemplates": [CLAIM],
        },
    },
    StatefulSet,
)


@pytest.mark.parametrize(
    ("name", "number"),
    [("db-0", 0), ("db-12", 12), ("db", None), ("db-x", None), ("other-0", None), ("db-0-1", None), ("db-", None)],
)
def test_a_pod_has_a_number_by_its_name(name: str, number: int | None) -> None:
    assert ordinal(SET, Pod(metadata=ObjectMeta(name=name))) == number


def test_numbers_begin_where_the_spec_says() -> None:
    assert [*ordinals(SET)] == [5, 6]


def test_a_pod_has_its_name_host_name_labels_and_claims() -> None:
    pod = pod_with_identity(SET, Owner(STATEFUL_SETS, SET.metadata), TEMPLATE, "db-abc", 5)
    assert (pod["metadata"]["name"], pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-5", "db-5", "peers")
    assert pod["metadata"]["labels"] == {
        "app": "x",
        "statefulset.kubernetes.io/pod-name": "db-5",
        "apps.kubernetes.io/pod-index": "5",
        "controller-revision-hash": "db-abc",
    }
    assert pod["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-5"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    assert TEMPLATE["spec"]["hostname"] == "own", "the template is not changed"


def test_a_claim_is_of_its_template_with_the_labels_of_the_selector() -> None:
    (claim,) = claims_of(SET, 5)
    assert claim["metadata"] == {"name": "data-db-5", "namespace": "n", "labels": {"app": "x", "tier": "db"}}
    assert claim["spec"] == CLAIM["spec"]
