"""Level `namespaces` without root: the agent runs without any capability that root has beyond its files."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cluster.node.api_access import major_version_seen_by_a_pod
from cluster.node.stream_client import stream_client
from shunter.api.resources import NETWORK_POLICIES, NODES, PODS, SERVICES
from shunter.cluster.enforced_policies import ANNOTATION, ENFORCED
from shunter.cluster.node.launch import linux, user_namespace
from shunter.kube.errors import ApiError

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

pytestmark = pytest.mark.e2e

# A process with root's uid and none of its rights is as good as any other user, but for one rule: whoever maps uid 0 into a user
# namespace needs CAP_SETFCAP. Another uid could not read the Python under /root.
_SETFCAP = 31
_LAST_CAPABILITY = 40


def _give_up_rights() -> None:
    for number in range(_LAST_CAPABILITY + 1):
        if number != _SETFCAP:
            linux.drop_capability(number)


class Agent:
    def __init__(self, node: NodeUnderTest, api_server: Any) -> None:
        self._command = [
            sys.executable, str(Path(__file__).with_name("node_process.py")), str(api_server.kubeconfig),
            str(api_server.state.pki), node.name, str(node.directory), "",
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, preexec_fn=_give_up_rights if os.geteuid() == 0 else None)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
async def agent(node: NodeUnderTest, api_server: Any) -> AsyncIterator[Agent]:
    await node.stop()
    await node.client.delete(NODES, node.name)
    started = Agent(node, api_server)
    started.start()
    await node_annotations(node)
    yield started
    started.kill()


async def node_annotations(node: NodeUnderTest) -> dict[str, str]:
    """The node's annotations once it has registered. Skips, with the reason, where the machine allows no user namespaces."""
    found: dict[str, str] = {}

    async def registered() -> bool:
        try:
            found.update((await node.client.get(NODES, node.name, view=dict))["metadata"]["annotations"])
        except ApiError:
            return False
        return True

    await node.until(registered)
    if found["shunter.dev/level"] != "namespaces":
        assert found["shunter.dev/level-reason"]
        pytest.skip(f"user namespaces are not possible: {found['shunter.dev/level-reason']}")
    return found


async def test_pods_have_names_probes_and_roots_of_their_own_and_outlive_the_agent(node: NodeUnderTest, agent: Agent) -> None:
    assert "user namespace" in (await node_annotations(node))["shunter.dev/level-reason"]
    service = {"clusterIP": "None", "selector": {"job": "j"}}
    metadata = {"name": "job", "namespace": node.namespace}
    await node.client.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service})
    server = {
        "name": "main",
        "image": "any",
        "command": ["python", "-m", "http.server", "8080", "--directory", "/srv"],
        "readinessProbe": {"httpGet": {"port": 8080}, "periodSeconds": 1},
        "lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", "mkdir -p /srv; echo hello > /srv/greeting"]}}},
    }
    spec = {"hostname": "j-0", "subdomain": "job", "terminationGracePeriodSeconds": 0, "containers": [server]}
    await node.create("j-0", spec, labels={"job": "j"})
    before = await node.ready("j-0")
    fetch = "import urllib.request; print(urllib.request.urlopen('http://j-0.job:8080/greeting').read().decode(), end='')"
    await node.run_shell("before", f'python -c "{fetch}"')
    assert await node.log("before") == "hello\n"

    assert await major_version_seen_by_a_pod(node, "asks") == "1\n"

    agent.kill()
    agent.start()
    await node.wait_for_log_server()
    after = await node.ready("j-0")
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]
    await node.run_shell("after", f'python -c "{fetch}"; touch /etc/shunter-test && ls /etc/shunter-test')
    assert await node.log("after") == "hello\n/etc/shunter-test\n"
    assert not os.path.exists("/etc/shunter-test")
    assert not os.path.exists("/srv/greeting")

    assert (await node_annotations(node))[ANNOTATION] == ENFORCED
    metadata = {"name": "deny", "namespace": node.namespace}
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata}
    await node.client.create(NETWORK_POLICIES, {**policy, "spec": {"podSelector": {}}})

    numbers = itertools.count()

    async def is_refused() -> bool:
        asked = await node.run_shell(f"asks-{next(numbers)}", f'timeout 1 python -c "{fetch}"')
        return bool(asked["status"]["phase"] == "Failed")

    await node.until(is_refused)

    await node.client.delete(PODS, "j-0", node.namespace)
    await node.gone("j-0")


async def test_commands_terminals_and_ports_reach_into_pods(node: NodeUnderTest, agent: Agent, api_server: Any) -> None:
    server = {
        "name": "main",
        "image": "any",
        "command": ["sh", "-c", "echo hello > /srv/greeting; exec python -m http.server 8080 --bind 127.0.0.1 --directory /srv"],
    }
    await node.create("p", {"terminationGracePeriodSeconds": 0, "containers": [server]})
    await node.ready("p")
    async with stream_client(api_server, node.namespace) as streams:
        assert (await streams.run("p", "hostname; cat /srv/greeting; exit 3"))[:2] == (3, "p\nhello\n")
        async with streams.converse("p", "exec", command=["sh", "-c", "tty; stty size"], tty=1, stderr=0) as conversation:
            assert await conversation.exit_code() == 0
        assert conversation.output().startswith("/dev/pts/0\r\n")

        async def answers() -> bool:
            async with streams.forward("p", 8080) as forwarded:
                await forwarded.send(0, b"GET /greeting HTTP/1.0\r\n\r\n")
                return (await forwarded.end())[0].endswith(b"\r\n\r\nhello\n")

        await node.until(answers)


async def test_teardown_ends_the_namespace_and_what_runs_in_it(node: NodeUnderTest, agent: Agent) -> None:
    from shunter.cluster.node.teardown import teardown

    await node.create("p", {"containers": [{"name": "main", "image": "any", "command": ["sleep", "601.25"]}]})
    await node.ready("p")
    holder = user_namespace.holder(str(node.directory / "holder.json"))
    assert holder
    agent.kill()
    teardown(node.directory)
    assert [path.name for path in node.directory.iterdir()] == ["pods"]
    await node.eventually(lambda: b"sleep\x00601.25\x00" not in command_lines())
    await node.eventually(lambda: not os.path.exists(f"/proc/{holder}/ns/net"))


def command_lines() -> list[bytes]:
    """Of all processes that live long enough to be looked at."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found.append(path.read_bytes())
    return found
