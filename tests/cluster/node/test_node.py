"""The node as the API server sees it: its object, its lease, its HTTPS server."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from ext4 import is_on_ext4, is_spread
from shunter.api.core import Service
from shunter.api.resources import LEASES, NODES
from shunter.cluster.node.layout import NodeDirectory
from shunter.cluster.node.net.names import Endpoint
from shunter.cluster.node.runtime.plain import PlainRuntime
from shunter.cluster.node.runtime.protocol import Level
from shunter.kube.errors import NotFound

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest


@pytest.fixture
def level() -> Level:
    return Level.PLAIN


async def test_the_node_registers_with_its_level(node: NodeUnderTest) -> None:
    body = await node.client.get(NODES, node.name, view=dict)
    assert body["metadata"]["annotations"]["shunter.dev/level"] == "plain"
    status = body["status"]
    assert {"type": "InternalIP", "address": "127.0.0.1"} in status["addresses"]
    assert status["daemonEndpoints"]["kubeletEndpoint"]["Port"] > 0
    assert next(one for one in status["conditions"] if one["type"] == "Ready")["status"] == "True"
    assert int(status["allocatable"]["cpu"]) >= 1


async def test_each_pod_lies_at_a_place_of_its_own_on_the_disk(node: NodeUnderTest) -> None:
    """Where pods had just ended each file of the next one took an ext4 without a journal half a millisecond."""
    if not is_on_ext4(node.directory):
        pytest.skip("no ext4 here")
    assert is_spread(NodeDirectory(node.directory).pods_directory)


async def test_a_pod_that_has_ended_is_no_longer_looked_at_for_names(
    node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[set[str]] = []

    def publish(self: PlainRuntime, services: Iterable[Service], endpoints: Iterable[Endpoint]) -> None:
        published.append({endpoint.name for endpoint in endpoints})

    monkeypatch.setattr(PlainRuntime, "publish", publish)
    await node.run_shell("p", "true")
    await node.eventually(lambda: {"p"} in published and published[-1] == set())


async def test_a_lease_says_that_the_node_lives(node: NodeUnderTest) -> None:
    async def renewed() -> bool:
        try:
            lease = await node.client.get(LEASES, node.name, "kube-node-lease", view=dict)
        except NotFound:
            return False
        return bool(lease["spec"]["holderIdentity"] == node.name and lease["spec"]["renewTime"])

    await node.until(renewed)


async def test_registering_again_keeps_the_node(node: NodeUnderTest) -> None:
    before = await node.client.get(NODES, node.name, view=dict)
    await node.stop()
    await node.start()
    after = await node.client.get(NODES, node.name, view=dict)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    ready = [
        next(c for c in body["status"]["conditions"] if c["type"] == "Ready")["lastTransitionTime"] for body in (before, after)
    ]
    assert ready[0] == ready[1]


async def test_without_mounts_shared_memory_is_the_machines_and_its_path_leads_to_the_volume(node: NodeUnderTest) -> None:
    """docs/training/runtime.md says so of shunter-torch: who opens shared memory by itself sees all that the machine has."""
    program = "import os, sys; print(os.stat(os.path.join('/dev', 'shm')).st_dev, sys.argv[1])"
    main = {
        "name": "main", "image": "any", "command": ["python", "-c", program, "/dev/shm/x"],
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }  # fmt: skip
    volume = {"name": "shm", "emptyDir": {"medium": "Memory"}}
    await node.create("p", {"restartPolicy": "Never", "containers": [main], "volumes": [volume]})
    await node.finished("p")
    device, path = (await node.log("p")).split()
    assert int(device) == os.stat("/dev/shm").st_dev
    assert path.startswith(str(node.directory))
    assert path.endswith("/volumes/shm/x")


async def answer(node: NodeUnderTest, api_server: Any, path: str, *, certificate: bool) -> tuple[int, str]:
    body = await node.client.get(NODES, node.name, view=dict)
    port = body["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    pki = api_server.state.pki
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    if certificate:
        context.load_cert_chain(pki / "server.crt", pki / "server.key")
    async with aiohttp.ClientSession() as session, session.get(f"https://127.0.0.1:{port}{path}", ssl=context) as response:
        return response.status, await response.text()


async def test_the_kubelet_api_answers_only_those_it_knows(node: NodeUnderTest, api_server: Any) -> None:
    await node.run_shell("p", "echo hello")
    path = f"/containerLogs/{node.namespace}/p/main"
    assert await answer(node, api_server, path, certificate=True) == (200, "hello\n")
    assert (await answer(node, api_server, path, certificate=False))[0] == 401
    assert await answer(node, api_server, "/healthz", certificate=False) == (200, "ok")


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        pytest.param("/none/main", 404, 'pod "none" not found', id="pod"),
        pytest.param("/p/none", 404, 'container "none" in pod "p" is not available', id="container"),
        pytest.param("/p/main?previous=true", 400, 'previous terminated container "main" in pod "p" not found', id="previous"),
        pytest.param("/p/main?tailLines=x", 400, "unable to decode log options: invalid literal", id="bad-option"),
    ],
)
async def test_what_has_no_log_is_said_in_kubelets_words(
    node: NodeUnderTest, api_server: Any, path: str, status: int, message: str
) -> None:
    await node.run_shell("p", "true")
    code, text = await answer(node, api_server, f"/containerLogs/{node.namespace}{path}", certificate=True)
    assert (code, text[: len(message)]) == (status, message)
