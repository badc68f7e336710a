"""NetworkPolicies as pods feel them: who reaches whom while policies, labels and pods come, change and go."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from cluster.node.conftest import NodeUnderTest
from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, NETWORK_POLICIES, NODES, PODS, SERVICE_ACCOUNTS, Resource
from shunter.cluster.enforced_policies import ANNOTATION, ENFORCED
from shunter.cluster.node.runtime.protocol import Level
from shunter.kube.client import connect
from shunter.kube.credentials import StaticCredentials
from shunter.kube.kubeconfig import Connection

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs networks of their own for pods"),
]

SERVER = """
import socketserver, threading
class Tcp(socketserver.BaseRequestHandler):
    def handle(self):
        while word := self.request.recv(9):
            self.request.sendall(word)
class Udp(socketserver.BaseRequestHandler):
    def handle(self):
        self.request[1].sendto(self.request[0], self.client_address)
socketserver.ThreadingTCPServer.allow_reuse_address = True
servers = [socketserver.ThreadingTCPServer(("", port), Tcp) for port in (80, 81)] + [socketserver.UDPServer(("", 82), Udp)]
for server in servers:
    threading.Thread(target=server.serve_forever).start()
"""
ASK = """
import socket, sys
kind, address, port, seconds = sys.argv[1:]
with socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as asking:
    asking.settimeout(float(seconds))
    asking.connect((address, int(port)))
    asking.send(b"ping")
    assert asking.recv(9) == b"ping"
"""
LONG, SHORT = "10", "0.5"
"""Seconds that what shall succeed has, even on a busy machine, and those that what shall not, or is asked again, takes."""

HOLD = """
import socket, sys
with socket.create_connection((sys.argv[1], 80)) as held:
    for word in (b"one", b"two"):
        held.settimeout(10)
        held.send(word)
        assert held.recv(9) == word
        print(flush=True)
        sys.stdin.readline()
"""
QUESTION = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
    asking.settimeout(float(sys.argv[2]))
    asking.connect((sys.argv[1], 53))
    asking.send(bytes.fromhex("000101000001000000000000") + bytes([1, 120, 0, 0, 1, 0, 1]))
    assert asking.recv(512)
"""


class Pods:
    """Pods that serve TCP on 80 and 81 and UDP on 82, and ask each other."""

    def __init__(self, node: NodeUnderTest) -> None:
        self._node = node
        self.addresses: dict[str, str] = {}

    async def start(self, name: str, **labels: str) -> None:
        ports = [{"name": "web", "containerPort": 80}, {"name": "admin", "containerPort": 81}]
        probe = {"tcpSocket": {"port": 80}, "periodSeconds": 1}
        main = {"name": "main", "image": "any", "command": ["python", "-c", SERVER], "ports": ports, "readinessProbe": probe}
        await self._node.create(name, {"containers": [main], "terminationGracePeriodSeconds": 0}, labels={"app": name, **labels})
        self.addresses[name] = (await self._node.ready(name))["status"]["podIP"]

    async def reaches(self, name: str, other: str, port: int = 80, kind: str = "tcp", *, seconds: str = SHORT) -> bool:
        return await self.runs(name, ASK, kind, self.addresses.get(other, other), str(port), seconds)

    async def is_reached(self, name: str, by: dict[str, bool], port: int = 80, kind: str = "tcp") -> bool:
        """Whether the others reach it as said of each. What shall reach it has longer."""
        found = (self.reaches(one, name, port, kind, seconds=LONG if expected else SHORT) for one, expected in by.items())
        return await asyncio.gather(*found) == list(by.values())

    async def runs(self, name: str, *command: str) -> bool:
        """Whether a program succeeds in the pod's network."""
        return await (await self.begin(name, *command)).wait() == 0

    async def begin(self, name: str, *command: str) -> asyncio.subprocess.Process:
        """A program of Python in the pod's network."""
        uid = (await self._node.pod(name))["metadata"]["uid"]
        network = self._node.directory / "pods" / uid / "ns" / "net"
        pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        program = ("nsenter", f"--net={network}", sys.executable, "-c", *command)
        return await asyncio.create_subprocess_exec(*program, stdin=pipe, stdout=pipe, stderr=nowhere)


@pytest.fixture
def pods(node: NodeUnderTest) -> Pods:
    return Pods(node)


async def apply(node: NodeUnderTest, name: str, **spec: Any) -> Json:
    metadata = {"name": name, "namespace": node.namespace}
    body = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}
    return await node.client.create(NETWORK_POLICIES, body, view=dict)


def of(app: str) -> Json:
    return {"podSelector": {"matchLabels": {"app": app}}}


async def test_policies_are_enforced_while_they_come_change_and_go(node: NodeUnderTest, pods: Pods) -> None:
    annotations = (await node.client.get(NODES, node.name, view=dict))["metadata"]["annotations"]
    assert annotations[ANNOTATION] == ENFORCED
    await asyncio.gather(*map(pods.start, ("web", "friend", "stranger")))

    async def reached_by(friend: bool, stranger: bool, port: int = 80, kind: str = "tcp") -> bool:
        return await pods.is_reached("web", {"friend": friend, "stranger": stranger}, port, kind)

    assert await reached_by(True, True)

    # Denied by default; the pod still reaches itself and others, UDP answers included, and its probe still finds it ready.
    await apply(node, "deny", podSelector={"matchLabels": {"app": "web"}}, policyTypes=["Ingress"])
    await node.until(lambda: reached_by(False, False))
    assert await reached_by(False, False, 82, "udp")
    assert await pods.reaches("web", "web", seconds=LONG)
    assert await pods.reaches("web", "friend", seconds=LONG)
    assert await pods.reaches("web", "friend", 82, "udp", seconds=LONG)
    assert await node.ready("web")

    # One pod, one port, by name.
    rule = {"from": [of("friend")], "ports": [{"port": "web"}]}
    await apply(node, "allow", podSelector={"matchLabels": {"app": "web"}}, ingress=[rule])
    await node.until(lambda: reached_by(True, False))
    assert await reached_by(False, False, 81)

    # A range that ends just before, and one that ends with the port.
    for last, expected in ((80, (False, False)), (81, (True, False))):
        rule = {"from": [of("friend")], "ports": [{"port": 79, "endPort": last}]}
        await node.client.patch(NETWORK_POLICIES, "allow", node.namespace, {"spec": {"ingress": [rule]}})
        await node.until(partial(reached_by, *expected, port=81))

    # A block with the friend's address left out.
    blocks = {"cidr": "10.0.0.0/8", "except": [f"{pods.addresses['friend']}/32"]}
    await node.client.patch(NETWORK_POLICIES, "allow", node.namespace, {"spec": {"ingress": [{"from": [{"ipBlock": blocks}]}]}})
    await node.until(lambda: reached_by(False, True))
    assert await reached_by(False, True, 82, "udp")

    # Labels decide, also of a pod that runs already; and of a new one from its first moment.
    await node.client.patch(NETWORK_POLICIES, "allow", node.namespace, {"spec": {"ingress": [{"from": [of("friend")]}]}})
    await node.until(lambda: reached_by(True, False))
    await node.client.patch(PODS, "stranger", node.namespace, {"metadata": {"labels": {"app": "friend"}}})
    await node.until(lambda: reached_by(True, True))
    await pods.start("late", app="friend")
    assert await pods.reaches("late", "web", seconds=LONG)

    # Without policies everything is as before.
    for name in ("deny", "allow"):
        await node.client.delete(NETWORK_POLICIES, name, node.namespace)
    await node.until(lambda: reached_by(True, True, 81))
    assert await reached_by(True, True, 82, "udp")


async def test_what_may_go_out_is_limited_and_dns_with_it(node: NodeUnderTest, pods: Pods) -> None:
    await asyncio.gather(*map(pods.start, ("web", "friend")))
    network = pods.addresses["web"].rpartition(".")[0]
    dns, own = f"{network}.1", {"podSelector": {"matchLabels": {"app": "friend"}}}

    async def out(seconds: str = SHORT) -> tuple[bool, bool]:
        return await pods.reaches("friend", "web", seconds=seconds), await pods.runs("friend", QUESTION, dns, seconds)

    assert await out(LONG) == (True, True)
    await apply(node, "out", **own, policyTypes=["Egress"], egress=[])
    await node.until(lambda: _is(out(), (False, False)))
    assert await pods.reaches("web", "friend", seconds=LONG), "what comes in, and its answers, are not what the policy is about"
    assert await pods.reaches("web", "friend", 82, "udp", seconds=LONG)
    system = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    await node.client.patch(NETWORK_POLICIES, "out", node.namespace, {"spec": {"egress": [{"to": [system]}]}})
    await node.until(lambda: _is(out(), (False, True)))
    await node.client.patch(NETWORK_POLICIES, "out", node.namespace, {"spec": {"egress": [{"to": [of("web")]}]}})
    await node.until(lambda: _is(out(), (True, False)))


async def test_a_policy_outlives_the_agent_and_one_that_went_meanwhile_is_gone(node: NodeUnderTest, pods: Pods) -> None:
    await asyncio.gather(*map(pods.start, ("web", "friend")))
    held = await pods.begin("friend", HOLD, pods.addresses["web"])
    assert held.stdout is not None
    assert held.stdin is not None
    assert await held.stdout.readline()
    await apply(node, "deny", podSelector={}, policyTypes=["Ingress"])
    await node.until(lambda: _is(pods.reaches("friend", "web"), False))
    held.stdin.write(b"\n\n")
    assert await held.wait() == 0, "a connection that was there before goes on"
    await node.stop()
    assert not await pods.reaches("friend", "web")
    await node.client.delete(NETWORK_POLICIES, "deny", node.namespace)
    await node.start()
    await node.until(lambda: pods.reaches("friend", "web"))


async def test_filters_are_gone_where_policies_have_no_effect_any_more(node: NodeUnderTest, pods: Pods) -> None:
    await asyncio.gather(*map(pods.start, ("web", "friend")))
    await apply(node, "deny", podSelector={}, policyTypes=["Ingress"])
    await node.until(lambda: _is(pods.reaches("friend", "web"), False))
    await node.stop()
    node.level = Level.PLAIN
    await node.start()
    says = (await node.client.get(NODES, node.name, view=dict))["metadata"]["annotations"][ANNOTATION]
    assert says == "its pods share the network of the machine (level plain)"
    await node.until(lambda: pods.reaches("friend", "web"))


async def test_filters_are_gone_once_policies_may_not_be_read_any_more(
    node: NodeUnderTest, pods: Pods, connection: Connection
) -> None:
    await asyncio.gather(*map(pods.start, ("web", "friend")))
    await apply(node, "deny", podSelector={}, policyTypes=["Ingress"])
    await node.until(lambda: _is(pods.reaches("friend", "web"), False))
    await node.stop()
    all_rights = node.client
    credentials = StaticCredentials((("Authorization", f"Bearer {await token_without_policies(node)}"),))
    async with connect(replace(connection, credentials=credentials)) as node.client:
        await node.start()
        says = (await all_rights.get(NODES, node.name, view=dict))["metadata"]["annotations"][ANNOTATION]
        assert says == "its credentials may not list/watch networkpolicies.networking.k8s.io"
        await node.until(lambda: pods.reaches("friend", "web"))
        await node.stop()


async def token_without_policies(node: NodeUnderTest) -> str:
    """Of an account that may do all that a node does but read NetworkPolicies."""
    groups = ["", "authentication.k8s.io", "authorization.k8s.io", "coordination.k8s.io", "events.k8s.io", "storage.k8s.io"]
    name = node.namespace
    account = {"kind": "ServiceAccount", "name": "agent", "namespace": name}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    bodies: dict[Resource, Json] = {
        SERVICE_ACCOUNTS: {"metadata": {"name": "agent", "namespace": name}},
        CLUSTER_ROLES: {"metadata": {"name": name}, "rules": [{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}]},
        CLUSTER_ROLE_BINDINGS: {"metadata": {"name": name}, "subjects": [account], "roleRef": role},
    }
    for resource, body in bodies.items():
        await node.client.create(resource, {"apiVersion": resource.api_version, "kind": resource.kind, **body}, view=dict)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = await node.client.create(SERVICE_ACCOUNTS, request, name, view=dict, subresource="token", name="agent")
    return str(answer["status"]["token"])


async def test_a_pod_runs_nothing_before_its_limits_are_there(node: NodeUnderTest, pods: Pods) -> None:
    await pods.start("web")
    await apply(node, "deny", podSelector={"matchLabels": {"app": "eager"}}, policyTypes=["Egress"])
    await node.create("wait", {"restartPolicy": "Never", "containers": [{"name": "c", "image": "any", "command": ["true"]}]})
    await node.finished("wait")  # the node has seen the policy by then
    command = ["python", "-c", ASK, "tcp", pods.addresses["web"], "80", "5"]
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "any", "command": command}]}
    apps = {"one": "eager", "two": "eager", "three": "eager", "free": "other"}
    for name, app in apps.items():
        await node.create(name, spec, labels={"app": app})
    ends = {name: (await node.finished(name))["status"]["phase"] for name in apps}
    assert ends == {"one": "Failed", "two": "Failed", "three": "Failed", "free": "Succeeded"}


async def test_a_pod_whose_filter_the_kernel_refuses_says_so_and_others_start(node: NodeUnderTest, pods: Pods) -> None:
    excepted = [f"10.0.{number}.0/24" for number in range(200)]  # a rule of more expressions than the kernel takes
    rule = {"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": excepted}}]}
    await apply(node, "wide", podSelector={"matchLabels": {"app": "refused"}}, ingress=[rule])
    await node.create("wait", {"restartPolicy": "Never", "containers": [{"name": "c", "image": "any", "command": ["true"]}]})
    await node.finished("wait")  # the node has seen the policy by then
    sleeping = {"name": "main", "image": "any", "command": ["sleep", "60"]}
    await node.create("refused", {"containers": [sleeping], "terminationGracePeriodSeconds": 0}, labels={"app": "refused"})
    event = await node.event("FailedCreatePodSandBox")
    assert event["involvedObject"]["name"] == "refused"
    assert event["message"].startswith("Failed to create pod sandbox: NetworkPolicies cannot be enforced: ")
    status = (await node.wait("refused", lambda status: status.get("containerStatuses"), "described"))["status"]
    assert [one["state"]["waiting"]["reason"] for one in status["containerStatuses"]] == ["ContainerCreating"]
    await pods.start("other")
    await node.client.delete(NETWORK_POLICIES, "wide", node.namespace)
    await node.ready("refused")


def test_a_filter_of_many_rules_and_addresses_is_one_transaction() -> None:
    """As of 100 rules, each for a port of all pods that a node can have: a megabyte."""
    program = """
from shunter.cluster.node.launch import linux, packet_filter
linux.unshare(linux.CLONE_NEWNET)
pods = [f"10.0.0.{number}" for number in range(2, 255)]
rules = [
    {"addresses": pods, "block": "", "excepted": [], "protocol": "TCP", "first": port, "last": port} for port in range(1, 101)
]
packet_filter._replace_rules({"ingress": rules, "egress": rules, "trusted": "10.0.0.1"}, loopback=1)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def _is(found: Any, expected: Any) -> bool:
    return bool(await found == expected)


class TestWithoutNetworksOfTheirOwn:
    @pytest.fixture
    def level(self) -> Level:
        return Level.PLAIN

    async def test_the_node_and_the_pod_say_that_a_policy_is_not_enforced(self, node: NodeUnderTest) -> None:
        says = "its pods share the network of the machine (level plain)"
        assert (await node.client.get(NODES, node.name, view=dict))["metadata"]["annotations"][ANNOTATION] == says
        await node.create("p", {"containers": [{"name": "c", "image": "any", "command": ["sleep", "60"]}]}, labels={"app": "p"})
        await node.create("q", {"containers": [{"name": "c", "image": "any", "command": ["sleep", "60"]}]}, labels={"app": "q"})
        await asyncio.gather(node.ready("p"), node.ready("q"))
        await apply(node, "deny", podSelector={"matchLabels": {"app": "q"}})
        event = await node.event("NetworkPolicyNotEnforced")
        assert (event["type"], event["involvedObject"]["name"]) == ("Warning", "q")
        assert event["message"] == f"NetworkPolicy deny selects this pod and is not enforced: {says}"
