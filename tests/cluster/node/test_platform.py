"""What a cluster gives its pods besides their spec: the API server, Services by variables, tokens; and what it says of them."""

from __future__ import annotations

import base64
import json
import time
from typing import TYPE_CHECKING

import pytest

from cluster.node.api_access import major_version_seen_by_a_pod
from shunter.api.meta import Json
from shunter.api.resources import PODS, SERVICE_ACCOUNTS, SERVICES
from shunter.cluster.node.pod import worker as pod_worker
from shunter.cluster.node.runtime.protocol import Level

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

pytestmark = pytest.mark.e2e


@pytest.fixture(params=[None, Level.PLAIN], ids=["best-level", "plain"])
def level(request: pytest.FixtureRequest) -> Level | None:
    level: Level | None = request.param
    return level


async def test_a_pod_reaches_the_api_server_also_after_a_restart_of_the_node(node: NodeUnderTest) -> None:
    assert await major_version_seen_by_a_pod(node, "first") == "1\n"
    await node.stop()
    await node.start()
    assert await major_version_seen_by_a_pod(node, "second") == "1\n"


async def test_a_service_is_reached_by_its_variables(node: NodeUnderTest) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "my-web", "namespace": node.namespace},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 29600}]},
    }
    await node.client.create(SERVICES, body)
    serve = "import socket, os; s = socket.create_server(('', int(os.environ['SERVE']))); s.accept()[0].sendall(b'hello')"
    main = {
        "name": "main",
        "image": "any",
        "command": ["python", "-c", serve],
        "env": [{"name": "SERVE_ADDR", "value": "localhost"}, {"name": "SERVE", "value": "29600"}],
    }
    await node.create("web", {"restartPolicy": "Never", "containers": [main]}, labels={"app": "web"})
    await node.ready("web")
    ask = (
        "import os, socket, time\n"
        "web = (os.environ['HOST'], int(os.environ['MY_WEB_SERVICE_PORT']))\n"
        "for _ in range(100):\n"
        "  try: print(socket.create_connection(web).recv(9).decode()); break\n"
        "  except OSError: time.sleep(.1)\n"
    )
    main = {**main, "command": ["python", "-c", ask], "env": [{"name": "HOST", "value": "$(MY_WEB_SERVICE_HOST)"}]}
    await node.create("asks", {"restartPolicy": "Never", "containers": [main]})
    await node.finished("asks")
    assert await node.log("asks") == "hello\n"


async def test_a_pod_may_do_without_service_variables(node: NodeUnderTest) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "my-web", "namespace": node.namespace},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }
    await node.client.create(SERVICES, body)
    main = {
        "name": "main",
        "image": "any",
        "command": ["sh", "-c", "env | grep -c -e MY_WEB; env | grep -c KUBERNETES_SERVICE_HOST"],
    }
    await node.create("p", {"restartPolicy": "Never", "enableServiceLinks": False, "containers": [main]})
    await node.finished("p")
    assert await node.log("p") == "0\n1\n"


def old_token() -> str:
    claims = {"iat": time.time() - 3000, "exp": time.time() + 600}
    return f"head.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.signature"


async def test_an_old_token_is_replaced_whoever_made_it(node: NodeUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_worker, "VOLUME_REFRESH_SECONDS", 0.1)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": node.namespace}}
    await node.client.create(SERVICE_ACCOUNTS, account)
    main = {
        "name": "main",
        "image": "any",
        "command": ["sleep", "100"],
        "volumeMounts": [{"name": "access", "mountPath": "/access"}],
    }
    sources = [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}]
    volumes = [{"name": "access", "projected": {"sources": sources}}]
    pod = await node.create(
        "p", {"containers": [main], "volumes": volumes, "serviceAccountName": "default", "terminationGracePeriodSeconds": 0}
    )
    await node.ready("p")
    token = node.directory / "pods" / pod["metadata"]["uid"] / "volumes/access/token"
    first = token.read_text()
    await node.stop()
    token.write_text(old := old_token())
    await node.start()
    await node.eventually(lambda: token.read_text() != old)
    assert token.read_text().count(".") == first.count(".") == 2


async def conditions(node: NodeUnderTest, *wanted: Json) -> None:
    """Has somebody else set conditions of pod p."""
    patch = {"status": {"conditions": list(wanted)}}
    await node.client.patch(PODS, "p", node.namespace, patch, type="strategic", subresource="status")


def shown(status: Json) -> dict[str, str]:
    return {one["type"]: one["status"] for one in status.get("conditions") or ()}


async def test_what_others_say_of_a_pod_stays(node: NodeUnderTest) -> None:
    main = {"name": "main", "image": "any", "command": ["sleep", "100"]}
    await node.create("p", {"containers": [main], "terminationGracePeriodSeconds": 0})
    await node.ready("p")
    await conditions(node, {"type": "DisruptionTarget", "status": "True", "reason": "Test"})
    await node.client.patch(PODS, "p", node.namespace, {"metadata": {"finalizers": ["test/keep"]}})
    await node.client.delete(PODS, "p", node.namespace)
    ended = await node.finished("p")
    await node.client.patch(PODS, "p", node.namespace, {"metadata": {"finalizers": None}})
    assert shown(ended["status"])["DisruptionTarget"] == "True"


async def test_a_readiness_gate_opens_when_somebody_says_so(node: NodeUnderTest) -> None:
    main = {"name": "main", "image": "any", "command": ["sleep", "100"]}
    gates = [{"conditionType": "test/open"}]
    await node.create("p", {"containers": [main], "readinessGates": gates, "terminationGracePeriodSeconds": 0})
    await node.wait("p", lambda status: shown(status).get("ContainersReady") == "True", "running")
    assert shown((await node.pod("p"))["status"])["Ready"] == "False"
    await conditions(node, {"type": "test/open", "status": "True"})
    await node.ready("p")


async def test_a_pod_that_others_declare_unready_says_again_that_it_is_ready(node: NodeUnderTest) -> None:
    main = {"name": "main", "image": "any", "command": ["sleep", "100"]}
    await node.create("p", {"containers": [main], "terminationGracePeriodSeconds": 0})
    await node.ready("p")
    await conditions(node, {"type": "Ready", "status": "False", "reason": "NodeNotReady"})
    ready = await node.ready("p")
    assert "reason" not in next(one for one in ready["status"]["conditions"] if one["type"] == "Ready")
