"""Whether a kind has a field, as the API server itself says it."""

from __future__ import annotations

import pytest

from cluster.api_server import RunningApiServer
from shunter.api.resources import TRAIN_JOBS, Resource
from shunter.api.scheduling.podgroups import VOLCANO_POD_GROUPS
from shunter.kube import kubeconfig
from shunter.kube.client import connect
from shunter.kube.served_fields import is_field_served


@pytest.mark.parametrize(
    ("resource", "path", "wanted"),
    [
        pytest.param(TRAIN_JOBS, ("spec", "trainer", "numNodes"), True, id="a field"),
        pytest.param(TRAIN_JOBS, ("spec", "trainer", "elsewhere"), False, id="no field"),
        pytest.param(VOLCANO_POD_GROUPS, ("spec",), None, id="a kind that is not there"),
    ],
)
async def test_the_server_says_whether_a_kind_has_a_field(
    api_server: RunningApiServer, resource: Resource, path: tuple[str, ...], wanted: bool | None
) -> None:
    client = connect(kubeconfig.load(api_server.kubeconfig), component="test")
    assert await is_field_served(client, resource, path) is wanted
    await client.close()
