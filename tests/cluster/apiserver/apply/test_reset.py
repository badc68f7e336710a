"""Which fields an endpoint does not own."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.api.resources import PODS, TRAIN_JOBS, Resource
from shunter.cluster.apiserver.apply.reset import reset_fields
from shunter.cluster.apiserver.kinds import Kind


@pytest.mark.parametrize(
    ("resource", "subresource", "reset"),
    [
        pytest.param(PODS, "", {"f:status": {}}, id="status is not written through the main endpoint"),
        pytest.param(
            PODS,
            "status",
            {"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
            id="a pod's status endpoint writes labels",
        ),
        pytest.param(TRAIN_JOBS, "status", {"f:spec": {}, "f:metadata": {}}, id="a custom kind's does not"),
        pytest.param(TRAIN_JOBS, "scale", {}, id="scale writes replicas"),
    ],
)
def test_an_endpoint_owns_only_what_it_writes(resource: Resource, subresource: str, reset: Json) -> None:
    kind = Kind(resource=resource, schema=lambda: pytest.fail("not needed"), has_status=True)
    assert reset_fields(kind, subresource) == reset
