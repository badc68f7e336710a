"""What the view of the cluster reads beside its watches: the operator, Kueue's queues, the server's version."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from page.views.test_job import NoServer
from shunter.api.meta import Json
from shunter.api.yaml import load_yaml
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.transport import Response
from shunter.page.cluster_readings import OperatorState, operator_state, operator_text, queue_row, server_version

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
DEPLOYMENT: Json = {
    "metadata": {"labels": {"app.kubernetes.io/version": "0.3"}},
    "spec": {"replicas": 2},
    "status": {"readyReplicas": 2},
}
LEASE = {"holderIdentity": "op-a", "renewTime": "2026-01-01T00:00:55Z", "leaseDurationSeconds": 15}
OPERATORS: dict[str, tuple[OperatorState, str]] = {
    "all is well": (
        OperatorState([DEPLOYMENT], [{"spec": LEASE}], [{}]),
        "2 of 2 replicas ready, leader op-a, v0.3; webhooks registered",
    ),
    "a lease of a minute that was renewed a minute ago": (
        OperatorState([], [{"spec": {**LEASE, "renewTime": "2026-01-01T00:00:00.5Z", "leaseDurationSeconds": 60}}], []),
        "leader op-a; no webhooks registered",
    ),
    "a lease that has run out": (
        OperatorState([], [{"spec": {**LEASE, "renewTime": "2026-01-01T00:00:44Z"}}], None),
        "no leader",
    ),
    "a lease that was released": (OperatorState([], [{"spec": {**LEASE, "holderIdentity": ""}}], None), "no leader"),
    "none": (OperatorState([], [], []), "no operator of Shunter is installed in this cluster"),
    "nothing may be read": (OperatorState(None, None, None), ""),
}


@pytest.mark.parametrize(("state", "text"), OPERATORS.values(), ids=OPERATORS)
def test_what_is_said_of_the_operator(state: OperatorState, text: str) -> None:
    assert operator_text(state, NOW) == text


def test_the_operator_of_an_embedded_cluster_has_neither_deployment_nor_lease() -> None:
    text = operator_text(OperatorState([], [], [{}]), NOW, is_embedded=True)
    assert text == "a process of the embedded cluster; webhooks registered"


def test_a_queue_has_the_quota_of_its_cluster_queue_as_far_as_it_may_be_read() -> None:
    queue = load_yaml("""
    metadata: {name: gold, namespace: vision, uid: q1}
    spec: {clusterQueue: research}
    status:
      pendingWorkloads: 2
      admittedWorkloads: 5
      flavorsUsage: [{name: a100, resources: [{name: nvidia.com/gpu, total: "40"}]}]
    """)
    whole = load_yaml("""
    spec: {resourceGroups: [{flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: "48"}]}]}]}
    """)
    row = queue_row(queue, {"research": whole})
    assert (row.id, row.pending, row.admitted, row.cluster_queue) == ("q1", 2, 5, "research")
    assert row.usage == (("nvidia.com/gpu (a100)", "40", "48"),)
    assert queue_row(queue, {}).usage == (("nvidia.com/gpu (a100)", "40", "?"),)


class Answering(NoServer):
    """A transport whose server answers everything with one status."""

    def __init__(self, status: int) -> None:
        self._status = status

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        return Response(self._status, {}, b"")


@pytest.mark.parametrize("status", [403, 404])
async def test_what_may_not_be_read_of_the_operator_is_unknown(status: int) -> None:
    assert await operator_state(Client(Answering(status))) == OperatorState(None, None, None)
    assert await server_version(Client(Answering(status))) == ""


async def test_a_server_that_fails_leaves_what_was_read_before() -> None:
    with pytest.raises(ApiError):
        await operator_state(Client(Answering(422)))
    with pytest.raises(ApiError):
        await server_version(Client(Answering(422)))
